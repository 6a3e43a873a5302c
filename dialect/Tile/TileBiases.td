//===- TileBiases.td - Tables of biases and their gradients ---------------===//
#ifndef PE_DIALECT_TILE_BIASES
#define PE_DIALECT_TILE_BIASES

include "TileBase.td"

def Tile_WindowOp : Tile_Op<"window", [HasParent<"StreamOp">, Pure]> {
  let summary = "a function of the distance i - j, read from its table";
  let description = [{
    The last extent of the table is `t`. The value at a pair is entry `row - column + (c - 1)`, with
    rows and columns counted within this call. Adjacent rows read adjacent entries.

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

def Tile_WindowDotOp : Tile_Op<"window_dot", [HasParent<"StreamOp">, Pure]> {
  let summary = "contraction of rows with the vectors of a table at the distance i - j";
  let description = [{
    The last extents of the table P are a depth (`d`, `e` or a number) and `t`, where `t` counts distances as in
    `tile.window`. The value at a pair is the sum over d of
    rows[row, d] * P[d, row - column + (c - 1)]. The sum is f32, and the elements of the table are
    rounded to the type of the rows. A NaN in the table only affects the pairs at its distance. With
    `within`, the vectors are 0 at all other distances of global positions, so lowerings may skip the
    blocks of pairs that have only such distances.

    ```mlir
    %s = tile.window_dot %q, %P within [0, 1023] : !tile.val<[r, d], f32>, !tile.buffer<[d, t], f32> -> !tile.val<[r, c], f32>
    ```
  }];
  let arguments = (ins Tile_ValType:$rows, Tile_BufferType:$table, OptionalAttr<I64Attr>:$low,
                       OptionalAttr<I64Attr>:$high);
  let results = (outs Tile_ValType:$value);
  let assemblyFormat =
      "$rows `,` $table (`within` `[` $low^ `,` $high `]`)? attr-dict `:` type($rows) `,` type($table) `->` type($value)";
  let hasVerifier = 1;
}

def Tile_WindowSumOp : Tile_Op<"window_sum", [HasParent<"StreamOp">, Pure]> {
  let summary = "contraction, over the columns, of pairs with the vectors of a table at i - j";
  let description = [{
    With the table P of `tile.window_dot`, result[row, d] is the sum over the unmasked columns of
    this block of value(row, column) * P[d, row - column + (c - 1)]. The sum is f32, and the
    elements of the table are rounded to the type of the value. `within` is as in `tile.window_dot`.
    The result is a fold of the stream.

    ```mlir
    %dq = tile.window_sum %ds, %P : !tile.val<[r, c], f32>, !tile.buffer<[d, t], f32> -> !tile.val<[r, d], f32>
    ```
  }];
  let arguments = (ins Tile_ValType:$value, Tile_BufferType:$table, OptionalAttr<I64Attr>:$low,
                       OptionalAttr<I64Attr>:$high);
  let results = (outs Tile_ValType:$rows);
  let assemblyFormat =
      "$value `,` $table (`within` `[` $low^ `,` $high `]`)? attr-dict `:` type($value) `,` type($table) `->` type($rows)";
  let hasVerifier = 1;
}

def Tile_WindowOuterOp : Tile_Op<"window_outer", [HasParent<"StreamOp">]> {
  let summary = "adds products of pairs with rows to a table of the distance i - j";
  let description = [{
    table[row - column + (c - 1), d] += value(row, column) * rows[row, d] over the pairs inside the
    mask. This is the contribution of `tile.window_dot` and `tile.window_sum` to the gradient of
    their table, with the extents `t` and `d` (or `e`) in the opposite order. Pairs and rows have
    the same element type; the sums are f32. With `within`, the gradients at other distances of global
    positions are not needed, and lowerings may omit their sums.

    ```mlir
    tile.window_outer %ds, %q, %G : !tile.val<[r, c], f32>, !tile.val<[r, d], f32> -> !tile.buffer<[b, hq, t, d], f32>
    ```
  }];
  let arguments = (ins Tile_ValType:$value, Tile_ValType:$rows, Tile_BufferType:$table,
                       OptionalAttr<I64Attr>:$low, OptionalAttr<I64Attr>:$high);
  let assemblyFormat =
      "$value `,` $rows `,` $table (`within` `[` $low^ `,` $high `]`)? attr-dict `:` type($value) `,` type($rows) `->` type($table)";
  let hasVerifier = 1;
}

def Tile_NearOp : Tile_Op<"near", [HasParent<"StreamOp">, Pure]> {
  let summary = "a value per row and distance that is constant for far distances";
  let description = [{
    The last extents of the table are W and `r`. The value at row i and column j is table[clamp(i -
    j - first, 0, W - 1), row], with global positions i and j. In a block beyond these distances, it
    is one value per row.

    ```mlir
    %x = tile.near %T first -16 : !tile.buffer<[b, hq, 33, r], f32> -> !tile.val<[r, c], f32>
    ```
  }];
  let arguments = (ins Tile_BufferType:$table, I64Attr:$first);
  let results = (outs Tile_ValType:$value);
  let assemblyFormat = "$table `first` $first attr-dict `:` type($table) `->` type($value)";
  let hasVerifier = 1;
}

def Tile_NearGradOp : Tile_Op<"near_grad", [HasParent<"StreamOp">]> {
  let summary = "writes a value at near distances to a table of rows";
  let description = [{
    table[i - j - first, row] = value(row, column) for the pairs inside the mask whose index is in
    [0, W). The last extents of the table are W and `r`. Every entry belongs to at most one pair;
    entries that belong to no pair are unchanged.

    ```mlir
    tile.near_grad %ds, %G first 0 : !tile.val<[r, c], f32> -> !tile.buffer<[b, hq, 16, r], f32>
    ```
  }];
  let arguments = (ins Tile_ValType:$value, Tile_BufferType:$table, I64Attr:$first);
  let assemblyFormat =
      "$value `,` $table `first` $first attr-dict `:` type($value) `->` type($table)";
  let hasVerifier = 1;
}

def Tile_SegmentsOp : Tile_Op<"segments", [HasParent<"StreamOp">, Pure]> {
  let summary = "a piecewise polynomial of u(i - j) * v(i)";
  let description = [{
    The value is a function of t = u[i - j] * v[i], where `u` is like the table of `tile.window` and
    the last extent of `v` is `r`. There are count[0] pieces, and the index of the piece of t is the
    number of kinks below t. `knots` holds the count[0] + 1 ends of all pieces in ascending order;
    all except the first and the last are kinks. The value is the polynomial of the piece, with
    coefficients [piece, power], in t - (a + b) / 2 with the ends a and b of the piece (computed in
    f32), or in t itself if the degree is 0 or 1. At a kink, either piece may be used. Without
    pieces the value is 0, and `coefficients` begins with zeros. The cost is one polynomial, plus
    one for every kink inside a tile.

    ```mlir
    %b = tile.segments %u, %v, %knots, %coefficients, %count
        : !tile.buffer<[t], f32>, ... -> !tile.val<[r, c], f32>
    ```
  }];
  let arguments = (ins Tile_BufferType:$u, Tile_BufferType:$v, Tile_BufferType:$knots,
                       Tile_BufferType:$coefficients, Tile_BufferType:$count);
  let results = (outs Tile_ValType:$value);
  let assemblyFormat =
      "$u `,` $v `,` $knots `,` $coefficients `,` $count attr-dict `:` type(operands) `->` "
      "type($value)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getDegree() { return ::mlir::tile::degreeOfSegments(getCoefficients()); }
  }];
}

def Tile_SegmentsGradOp : Tile_Op<"segments_grad", [
    HasParent<"StreamOp">, AttrSizedOperandSegments]> {
  let summary = "the adjoint of tile.segments";
  let description = [{
    Let g be `value` at a pair in piece k, t = u[i - j] * v[i], p the polynomial of the piece, and x
    its variable (see `tile.segments`). Over the pairs inside the mask, the op adds moments[k, m] +=
    g * x^m for every power m and, if present, v_grad[i] += g * p'(t) * u[i - j] and u_grad[i - j]
    += g * p'(t) * v[i].
  }];
  let arguments = (ins Tile_ValType:$value, Tile_BufferType:$u, Tile_BufferType:$v,
                       Tile_BufferType:$knots, Tile_BufferType:$coefficients,
                       Tile_BufferType:$count, Tile_BufferType:$moments,
                       Optional<Tile_BufferType>:$v_grad, Optional<Tile_BufferType>:$u_grad);
  let assemblyFormat =
      "$value `,` $u `,` $v `,` $knots `,` $coefficients `,` $count `into` $moments "
      "(`rows` $v_grad^)? (`diagonals` $u_grad^)? attr-dict `:` type(operands)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getDegree() { return ::mlir::tile::degreeOfSegments(getCoefficients()); }
  }];
}

def Tile_FindSegmentsOp : Tile_Op<"find_segments", [HasParent<"StageOp">]> {
  let summary = "builds the tables of tile.segments from a chain of maps of one variable";
  let description = [{
    Only allowed in a stage without a stream. The links of the chain are affine maps, alternating
    weight [outputs, inputs] and bias [outputs] (the first weight has one input), each followed by
    its function in `functions`. The last link has one output per head, or one output for all heads.
    On the range of u * v:

    - Degree 1: the kinks of relu are found exactly by a sweep over node values in float64, link by
      link, without propagating slopes. Degree 0: the ends of steps are found in the same way.
    - Degree 3: pieces between kinks are halved until the cubic through the four Chebyshev points of
      each agrees with the chain to `tolerance` on a dense set of points (docs/numerics.md).

    The op writes ends, coefficients (per head) and the number of pieces, which is 0 if there are
    too many. The number of pieces of a ReLU network on a line grows linearly with its neurons
    (Hanin and Rolnick 2019, arXiv 1901.09021).
  }];
  let arguments = (ins Variadic<Tile_BufferType>:$links, Tile_BufferType:$u, Tile_BufferType:$v,
                       Tile_BufferType:$knots, Tile_BufferType:$coefficients,
                       Tile_BufferType:$count, StrArrayAttr:$functions,
                       DefaultValuedAttr<F64Attr, "1e-5">:$tolerance);
  let assemblyFormat =
      "`(` $links `)` $functions `range` $u `,` $v `into` $knots `,` $coefficients `,` $count "
      "attr-dict `:` type(operands)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getDegree() { return ::mlir::tile::degreeOfSegments(getCoefficients()); }
  }];
}

#endif // PE_DIALECT_TILE_BIASES
