//===- TileBiases.td - reading and differentiating tables of a bias -------===//
#ifndef PE_DIALECT_TILE_BIASES
#define PE_DIALECT_TILE_BIASES

include "TileBase.td"

def Tile_WindowOp : Tile_Op<"window", [HasParent<"StreamOp">, Pure]> {
  let summary = "a function of the distance i - j, read from its table";
  let description = [{
    The table has extent `t` last: entry `row - column + (c - 1)`, rows and columns counted within
    this call. Neighbouring rows read neighbouring entries.

    ```mlir
    %b = tile.window %T : !tile.buffer<[hq, t], f32> -> !tile.val<[r, c], f32>
    ```
  }];
  let arguments = (ins Tile_BufferType:$table);
  let results = (outs Tile_ValType:$value);
  let assemblyFormat = "$table attr-dict `:` type($table) `->` type($value)";
  let hasVerifier = 1;
}

def Tile_WindowGradOp : Tile_Op<"window_grad", [HasParent<"StreamOp">]> {
  let summary = "adds a value's sums along diagonals to a table";
  let description = [{
    table[row - column + (c - 1)] += value(row, column) over the pairs inside the mask.

    ```mlir
    tile.window_grad %ds, %G : !tile.val<[r, c], f32> -> !tile.buffer<[b, hq, t], f32>
    ```
  }];
  let arguments = (ins Tile_ValType:$value, Tile_BufferType:$table);
  let assemblyFormat = "$value `,` $table attr-dict `:` type($value) `->` type($table)";
  let hasVerifier = 1;
}

def Tile_SegmentsOp : Tile_Op<"segments", [HasParent<"StreamOp">, Pure]> {
  let summary = "a piecewise linear function of u(i - j) * v(i)";
  let description = [{
    With t = u[i - j] * v[i] (`u` like the table of `tile.window`, `v` with extent `r` last) the
    value is slope[k] * t + offset[k], where k is the number of kinks below t: `knots` holds the
    `count[0]` - 1 kinks in ascending order, so there are count[0] segments. It is continuous, so at
    a kink either segment may be used. Cost: one multiply-add where a tile lies in one segment, plus
    two operations for every kink inside it.

    ```mlir
    %b = tile.segments %u, %v, %knots, %slope, %offset, %count
        : !tile.buffer<[t], f32>, ... -> !tile.val<[r, c], f32>
    ```
  }];
  let arguments = (ins Tile_BufferType:$u, Tile_BufferType:$v, Tile_BufferType:$knots,
                       Tile_BufferType:$slope, Tile_BufferType:$offset, Tile_BufferType:$count);
  let results = (outs Tile_ValType:$value);
  let assemblyFormat =
      "$u `,` $v `,` $knots `,` $slope `,` $offset `,` $count attr-dict `:` type(operands) `->` "
      "type($value)";
  let hasVerifier = 1;
}

def Tile_SegmentsGradOp : Tile_Op<"segments_grad", [
    HasParent<"StreamOp">, AttrSizedOperandSegments]> {
  let summary = "the adjoint of tile.segments";
  let description = [{
    With g = `value` at a pair in segment k and t = u[i - j] * v[i], adds over the pairs inside the
    mask: moments[k, 0] += g, moments[k, 1] += g * t, and where present v_grad[i] += g * slope[k] *
    u[i - j] and u_grad[i - j] += g * slope[k] * v[i].
  }];
  let arguments = (ins Tile_ValType:$value, Tile_BufferType:$u, Tile_BufferType:$v,
                       Tile_BufferType:$knots,
                       Tile_BufferType:$slope, Tile_BufferType:$count, Tile_BufferType:$moments,
                       Optional<Tile_BufferType>:$v_grad, Optional<Tile_BufferType>:$u_grad);
  let assemblyFormat =
      "$value `,` $u `,` $v `,` $knots `,` $slope `,` $count `into` $moments (`rows` $v_grad^)? "
      "(`diagonals` $u_grad^)? attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Tile_FindSegmentsOp : Tile_Op<"find_segments", [HasParent<"StageOp">]> {
  let summary = "builds the tables of tile.segments from a ReLU network of one variable";
  let description = [{
    In a stage without a stream. `layers` are weight, bias, weight, bias, ... (w1[n], b1[n], w2[n',
    n], b2[n'], ..., last w[heads, n], b[heads]); hidden activations are ReLU, the last layer is
    affine. Finds every kink on the range of u * v by a sweep over node values in float64, without
    propagating slopes, and writes knots, slope and offset (per head) and the number of segments.
    Source: the segments of a ReLU network on a line grow linearly with its neurons (Hanin and
    Rolnick 2019, arXiv 1901.09021).
  }];
  let arguments = (ins Variadic<Tile_BufferType>:$layers, Tile_BufferType:$u, Tile_BufferType:$v,
                       Tile_BufferType:$knots, Tile_BufferType:$slope, Tile_BufferType:$offset,
                       Tile_BufferType:$count);
  let assemblyFormat =
      "`(` $layers `)` `range` $u `,` $v `into` $knots `,` $slope `,` $offset `,` $count "
      "attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

#endif // PE_DIALECT_TILE_BIASES
