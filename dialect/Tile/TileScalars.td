//===- TileScalars.td - Scalar loops of preparation and reduction stages --===//
#ifndef PE_DIALECT_TILE_SCALARS
#define PE_DIALECT_TILE_SCALARS

include "TileBase.td"

def Tile_ForeachOp : Tile_Op<"foreach", [
    HasParent<"StageOp">, SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "a sequential loop nest over extents, with a scalar body";
  let description = [{
    The block arguments are one index per space of the stage's `over`, then one per extent of `over`
    of this op (names, integers or size expressions as in a buffer type), outermost first.
    Iterations run in that order, so `tile.accumulate` is deterministic. `independent` asserts that
    no two iterations, of this loop or of the stage's items, access an element that one of them
    changes. Use it if the indices do not imply this; it is not verified.

    ```mlir
    tile.stage @table prepare over ["hq"] {
      tile.foreach over ["t"] { ^bb0(%h: index, %t: index): ... tile.write %x, %T[%h, %t] : ... }
    }
    ```
  }];
  let arguments = (ins StrArrayAttr:$over, UnitAttr:$independent);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`over` $over (`independent` $independent^)? attr-dict-with-keyword $body";
  let builders = [OpBuilder<(ins "::mlir::ArrayAttr":$over), [{ build($_builder, $_state, over, /*independent=*/false); }]>];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Tile_SizeOp : Tile_Op<"size", [Pure]> {
  let summary = "a size or start of this call";
  let description = [{
    Evaluates a size expression over the names that extents of buffers may use and the parameters of
    the plan.

    ```mlir
    %n = tile.size "r + c" : index
    ```
  }];
  let arguments = (ins StrAttr:$expression);
  let results = (outs Index:$value);
  let assemblyFormat = "$expression attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Tile_ReadOp : Tile_Op<"read", [MemoryEffects<[MemRead]>]> {
  let summary = "reads one element; indices are clamped to the extents";
  let description = [{
    `inbounds` states that the indices are within the extents, so nothing is clamped.

    ```mlir
    %x = tile.read %slopes[%h] : !tile.buffer<[hq], f32> -> f32
    ```
  }];
  let arguments = (ins Tile_BufferType:$buffer, Variadic<Index>:$indices, UnitAttr:$inbounds);
  let results = (outs AnyType:$value);
  let assemblyFormat =
      "$buffer `[` $indices `]` (`inbounds` $inbounds^)? attr-dict `:` type($buffer) `->` "
      "type($value)";
  let hasVerifier = 1;
}

def Tile_WriteOp : Tile_Op<"write", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes one element";
  let description = "`tile.write %x, %T[%h, %t] : f32 -> !tile.buffer<[hq, t], f32>`";
  let arguments = (ins AnyType:$value, Tile_BufferType:$buffer, Variadic<Index>:$indices);
  let assemblyFormat =
      "$value `,` $buffer `[` $indices `]` attr-dict `:` type($value) `->` type($buffer)";
  let hasVerifier = 1;
}

def Tile_AccumulateOp : Tile_Op<"accumulate", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "adds to one element, in the buffer's type; indices are clamped to the extents";
  let description = [{
    In a `tile.map` over pairs, it adds over the pairs inside the mask. The indices must then begin
    with `tile.index "b"` and `tile.index "hq"`, so that work items never share an element. In a
    loop, it may also store the larger (`by max`) or smaller (`by min`) of the element and its
    operand; if one is NaN, it stores the other. A lowering may divide a loop of `by max` or `by
    min` among threads, because the order does not matter. With `own`, a stage adds at most one
    value other than 0 to each element, so that lowerings need no order.

    ```mlir
    tile.accumulate %g, %D[%b, %h] : f32 -> !tile.buffer<[b, hq], f64>
    ```
  }];
  let arguments = (ins AnyType:$value, Tile_BufferType:$buffer, Variadic<Index>:$indices,
                       DefaultValuedAttr<Tile_ReductionAttr, "Reduction::Add">:$kind, UnitAttr:$own);
  let assemblyFormat =
      "$value `,` $buffer `[` $indices `]` (`by` $kind^)? (`own` $own^)? attr-dict `:` type($value) `->` "
      "type($buffer)";
  let hasVerifier = 1;
}

def Tile_ScratchOp : Tile_Op<"scratch"> {
  let summary = "scratch memory of one evaluation of scalar code";
  let description = [{
    An array of f32 or f64 numbers, such as the hidden values of a network. Every evaluation of the
    region has its own array, which is uninitialized. `memref.load` and `memref.store` access it.
    The lowering chooses the allocation: on the stack, as vectors, or as thread-local memory.

    ```mlir
    %hidden = tile.scratch : memref<32xf32>
    ```
  }];
  let results = (outs Res<AnyMemRef, "", [MemAlloc]>:$memory);
  let assemblyFormat = "attr-dict `:` type($memory)";
  let hasVerifier = 1;
}

#endif // PE_DIALECT_TILE_SCALARS
