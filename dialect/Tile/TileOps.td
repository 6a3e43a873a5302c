//===- TileOps.td - Operations of the tile dialect ------------------------===//
#ifndef PE_DIALECT_TILE_OPS
#define PE_DIALECT_TILE_OPS

include "TileBase.td"
include "TileBiases.td"
include "TileScalars.td"
include "TilePlans.td"

//===- Memory ----------------------------------------------------------------===//

def Tile_LoadOp : Tile_Op<"load", [ParentOneOf<["StageOp", "StreamOp"]>, Pure]> {
  let summary = "reads a value; indices are implied by the names";
  let description = [{
    The buffer's extents name the indices: `b`, `hq`, `hkv` come from the stage (the row's head in a
    stage over `hkv`), `kb` from the stream's block, `ks` from the stage or the stream over splits,
    and `r`, `c`, `d`, `e` from the value. The value is a panel, a vector or a head scalar. In a
    stream, it may also be pairs that another stage has stored. A load of f32 from a buffer of bf16
    or f16 extends every element. The op is pure, because a stage does not store to a buffer that it
    loads.

    ```mlir
    %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
    ```
  }];
  let arguments = (ins Tile_BufferType:$buffer);
  let results = (outs Tile_ValType:$value);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($value)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [ParentOneOf<["StageOp", "StreamOp"]>]> {
  let summary = "writes a value; indices are implied by the names";
  let description = [{
    Inside a stream, only a value over `r` may be stored, to a buffer with `kb`, a snapshot of a
    carry at the beginning of the block in stream order; and pairs, to a temporary of whole blocks.
    The latter defines every block with at least one pair of the stage; pairs that the stream does
    not visit become 0. A store of f32 to a buffer of bf16 or f16 rounds every element once, to nearest,
    ties to even.

    ```mlir
    tile.store %o, %O : !tile.val<[r, e], f32> -> !tile.buffer<[b, hq, r, e], f32>
    tile.store %p, %P : !tile.val<[r, c], bf16> -> !tile.buffer<[b, hq, "ceildiv(c,64)*64", "ceildiv(r,128)*128"], bf16>
    ```
  }];
  let arguments = (ins Tile_ValType:$value, Tile_BufferType:$buffer);
  let assemblyFormat = "$value `,` $buffer attr-dict `:` type($value) `->` type($buffer)";
  let hasVerifier = 1;
}

//===- Values ----------------------------------------------------------------===//

def Tile_ConstantOp : Tile_Op<"constant", [ParentOneOf<["StageOp", "StreamOp"]>, Pure]> {
  let summary = "a constant at every point";
  let description = "`tile.constant 0.0 : !tile.val<[r, e], f32>`";
  let arguments = (ins F64Attr:$number);
  let results = (outs Tile_ValType:$value);
  let assemblyFormat = "$number attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Tile_PositionOp : Tile_Op<"position", [ParentOneOf<["StageOp", "StreamOp"]>, Pure]> {
  let summary = "the global position of a row or a column";
  let description = [{
    The index of the row or column within the call plus the start of the call's rows or columns: i
    for a query, j for a key. Only maps may use it.

    ```mlir
    %i = tile.position "r" : !tile.val<[r], index>
    ```
  }];
  let arguments = (ins StrAttr:$space);
  let results = (outs Tile_ValType:$value);
  let assemblyFormat = "$space attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Tile_IndexOp : Tile_Op<"index", [ParentOneOf<["StageOp", "StreamOp"]>, Pure]> {
  let summary = "the index of the batch entry, query head, row or column within the call";
  let description = [{
    It indexes buffers. For `b` and `hq`, it is one value per head.

    ```mlir
    %h = tile.index "hq" : !tile.val<[], index>
    ```
  }];
  let arguments = (ins StrAttr:$space);
  let results = (outs Tile_ValType:$value);
  let assemblyFormat = "$space attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Tile_MapOp : Tile_Op<"map", [
    ParentOneOf<["StageOp", "StreamOp"]>, SingleBlockImplicitTerminator<"YieldOp">,
    RecursiveMemoryEffects]> {
  let summary = "an elementwise function; operands broadcast by space";
  let description = [{
    The region has one scalar argument per operand and yields one scalar per result. It may read
    parameters with `tile.read` and add to gradients with `tile.accumulate`; it has no other
    effects. Its code consists of arith and math ops, including `math.exp2` and `math.log2`. The
    argument of an exp2 with the attribute `tile.below_127` is at most 127 or NaN; its result need
    not be correct for other arguments.

    ```mlir
    %p = tile.map(%s, %m) : (!tile.val<[r, c], f32>, !tile.val<[r], f32>) -> !tile.val<[r, c], f32> {
    ^bb0(%x: f32, %y: f32):
      %0 = arith.subf %x, %y : f32
      %1 = math.exp2 %0 : f32
      tile.yield %1 : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Tile_ValType>:$inputs);
  let results = (outs Variadic<Tile_ValType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat =
      "`(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The spaces of the iteration: those of the results or, without results, of the inputs.
    ::mlir::tile::SpaceSet getIterationSpaces();
    /// The input that an argument of the region corresponds to; null for any other value.
    ::mlir::Value getInputOf(::mlir::Value regionValue);
    /// Returns true if a value of the region is the `tile.index` of this space.
    bool isIndexOf(::mlir::Value regionValue, ::llvm::StringRef space);
  }];
}

def Tile_MaskOp : Tile_Op<"mask", [
    HasParent<"StreamOp">, Pure, TypesMatchWith<"same type", "input", "output", "$_self">]> {
  let summary = "the value inside the stage's pairs, `fill` outside of them";
  let description = [{
    In a block that is entirely inside the pairs, this op is the identity: lowerings clone such
    blocks without it.

    `where` removes pairs: those at which the condition is 0 are outside the pairs of the stream,
    for this op and for every reduction, scan, contraction and sum after it.

    ```mlir
    %m = tile.mask %s fill -1.0e30 : !tile.val<[r, c], f32>
    %n = tile.mask %s where %p : !tile.val<[r, c], f32> fill -1.0e30 : !tile.val<[r, c], f32>
    ```
  }];
  let arguments = (ins Tile_ValType:$input, F64Attr:$fill, Optional<Tile_ValType>:$condition);
  let results = (outs Tile_ValType:$output);
  let assemblyFormat =
      "$input (`where` $condition^ `:` type($condition))? `fill` $fill attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Tile_RandomOp : Tile_Op<"random", [HasParent<"StreamOp">, Pure]> {
  let summary = "a random factor per pair: `factor` or 0";
  let description = [{
    `factor` if the pair's random word is at least `least`, and 0 otherwise. The word is word
    j mod 4 of Philox 4x32-10, with the seed as its key and the counter
    (b, head_start + h, i, floor(j / 4)), where i and j are global positions. With a buffer of seeds
    per batch entry, the counter has 0 instead of b. The value does not depend on blocks or on how a call is split.

    ```mlir
    %f = tile.random %seed least 429496730 factor 1.1111 : !tile.buffer<[], i64> -> !tile.val<[r, c], f32>
    ```
  }];
  let arguments = (ins Tile_BufferType:$seed, I64Attr:$least, F64Attr:$factor);
  let results = (outs Tile_ValType:$value);
  let assemblyFormat =
      "$seed `least` $least `factor` $factor attr-dict `:` type($seed) `->` type($value)";
  let hasVerifier = 1;
}

def Tile_ReduceOp : Tile_Op<"reduce", [ParentOneOf<["StageOp", "StreamOp"]>, Pure]> {
  let summary = "max or sum over one space of the current block";
  let description = [{
    The result is over the input's spaces without the named one. In a stream, a reduction over `c`
    covers only the unmasked keys of the current block, so it must feed a carry. A reduction over
    `r` covers the rows of the block (for pairs, the unmasked ones) and is a fold. A reduction over
    any other space covers all of it. An empty maximum is -1e30. A maximum may ignore a NaN; a sum
    is NaN if a term is.

    ```mlir
    %m = tile.reduce max over c %s : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
    ```
  }];
  let arguments = (ins Tile_ReductionAttr:$kind, StrAttr:$axis, Tile_ValType:$input);
  let results = (outs Tile_ValType:$output);
  let assemblyFormat = "$kind `over` custom<Space>($axis) $input attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
}

def Tile_DotOp : Tile_Op<"dot", [HasParent<"StreamOp">, Pure]> {
  let summary = "contraction over the named space with f32 accumulation, added to `init`";
  let description = [{
    Operands have the same element type: f32, or bf16, f16 or tf32 (f32 with 10 bits of fraction),
    whose products are exact in f32. Both have the named space; the result is over the union of
    their other spaces. A contraction over `c` or `r` covers the keys or rows of this block (for
    pairs, the unmasked ones). `init` is broadcast to the result.

    ```mlir
    %s = tile.dot %q, %k over d init(%b : !tile.val<[r, c], f32>)
        : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
    ```
  }];
  let arguments = (ins Tile_ValType:$lhs, Tile_ValType:$rhs, StrAttr:$axis,
                       Optional<Tile_ValType>:$init);
  let results = (outs Tile_ValType:$output);
  let assemblyFormat =
      "$lhs `,` $rhs `over` custom<Space>($axis) (`init` `(` $init^ `:` type($init) `)`)? attr-dict `:` "
      "type($lhs) `,` type($rhs) `->` type($output)";
  let hasVerifier = 1;
}

def Tile_ScanOp : Tile_Op<"scan", [
    HasParent<"StreamOp">, Pure, TypesMatchWith<"result like a", "a", "result", "$_self">,
    TypesMatchWith<"carry kept", "carry_in", "carry_out", "$_self">]> {
  let summary = "a recurrence along the keys of the block, in position order, with a row carry";
  let description = [{
    `mul`: x <- a_j * x.  `linear`: x <- a_j * x + b_j.  `odds`: x <- x / (1 + a_j), with a_j in
    [0, 2^30] or NaN: a target may divide by the product of four keys, which the bound keeps finite.
    Then x below 2^-96 may become 0, and a NaN may reach x at the three keys before it. `result` at
    j is x after key j (`exclusive`: before it). `carry_out` is x after the last key of the block.
    Masked keys leave x unchanged; `tile.mask` defines their results.

    ```mlir
    %x, %carry = tile.scan mul descending %a carry %x0 : !tile.val<[r, c], f32>, !tile.val<[r], f32>
    ```
  }];
  let arguments = (ins Tile_ScanKindAttr:$kind, Tile_OrderAttr:$order, Tile_ValType:$a,
                       Optional<Tile_ValType>:$b, Tile_ValType:$carry_in, UnitAttr:$exclusive);
  let results = (outs Tile_ValType:$result, Tile_ValType:$carry_out);
  let assemblyFormat =
      "$kind $order $a (`plus` $b^ `:` type($b))? `carry` $carry_in (`exclusive` $exclusive^)? "
      "attr-dict `:` type($a) `,` type($carry_in)";
  let hasVerifier = 1;
}

def Tile_RescaleOp : Tile_Op<"rescale", [
    HasParent<"StreamOp">, Pure, TypesMatchWith<"differences like scores", "scores", "difference", "$_self">,
    TypesMatchWith<"offsets like maxima", "maximum", "offset", "$_self">,
    TypesMatchWith<"raised like maxima", "maximum", "raised", "$_self">,
    RangedTypesMatchWith<"scaled like sums", "sums", "scaled", "$_self">]> {
  let summary = "a running maximum that rises only if scores exceed it by more than `slack`";
  let description = [{
    A softmax over blocks of keys keeps sums relative to 2^(m unit) for a maximum m of every row. They stay correct for any m
    near the largest score, so m does not have to rise with every larger one; FlashAttention-4 has the same rule. Let n be the
    largest unmasked score of a row in the block. If (n - m) unit exceeds `slack`, n is NaN, or |m unit| is not below 256
    while `unit` is not 1, `raised` is max(m, n) and `scaled` the sums times 2^((m - raised) unit). Other rows keep m and
    the sums.

    In every row, difference · unit + offset = (s - raised) unit, which is the exponent of a weight. It needs one rounding if
    |raised unit| is below 256: `difference` is the score. Otherwise, the score minus `raised`, so that the largest weight is
    exactly 1 at any magnitude. Results of a row do not depend on other rows.

    ```mlir
    %x, %offset, %m1, %l1, %o1 = tile.rescale %s from %m (%l, %o) unit 0.18 slack 8.0
        : !tile.val<[r, c], f32>, !tile.val<[r], f32>, !tile.val<[r], f32>, !tile.val<[r, e], f32>
    ```
  }];
  let arguments = (ins Tile_ValType:$scores, Tile_ValType:$maximum, Variadic<Tile_ValType>:$sums,
                       F32Attr:$unit, F32Attr:$slack);
  let results = (outs Tile_ValType:$difference, Tile_ValType:$offset, Tile_ValType:$raised,
                      Variadic<Tile_ValType>:$scaled);
  let assemblyFormat =
      "$scores `from` $maximum `(` $sums `)` `unit` $unit `slack` $slack attr-dict `:` type($scores) `,` "
      "type($maximum) (`,` type($sums)^)?";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The size of a scaled maximum from which differences are taken first.
    static constexpr float kLarge = 256;
    /// Returns true if products with the unit round, so that large maxima need differences.
    bool mayBeLarge() { return getUnit().convertToFloat() != 1; }
  }];
}

//===- Streams -----------------------------------------------------------------===//

def Tile_StreamOp : Tile_Op<"stream", [
    HasParent<"StageOp">, AttrSizedOperandSegments, SingleBlockImplicitTerminator<"YieldOp">,
    RecursiveMemoryEffects]> {
  let summary = "a loop over blocks of keys for every row: carries in order, folds in any";
  let description = [{
    The block arguments are the carries (values over r and not c); the stream visits blocks in the
    order `order`. The body yields the new carries, then one contribution per fold. The results are
    the final carries, then the folds: sums of the contributions over all blocks, starting at zero.
    A fold with `r` sums over key blocks, one with `c` over row blocks, and one with neither over
    both. The schedule chooses whether rows or columns are the outer loop, and the block sizes.

    `stop_carry` (an index) and `stop_below`: once that carry is below the bound in every row (NaN
    is not), the remaining blocks may be skipped, which changes results only by rounding. A snapshot
    buffer still gets a value (zero) for a skipped block, and a stream that loads it may skip a
    block whose snapshot (`skip_buffer`) is below `skip_below` in every row.

    A stream `over_splits` visits the splits of the keys (extent `ks`) and no keys: its body loads
    the values that a stage over `ks` stored for a split, and has maps of values over rows.

    ```mlir
    %m, %l, %o = tile.stream ascending carry(%m0, %l0, %o0 : ...) {
    ^bb0(%m_: ..., ...):
      ...
      tile.yield %a, %b, %c : ...
    } : ...
    ```
  }];
  let arguments = (ins Tile_OrderAttr:$order, Variadic<Tile_ValType>:$carries,
                       OptionalAttr<I64Attr>:$stop_carry, OptionalAttr<F64Attr>:$stop_below,
                       OptionalAttr<F64Attr>:$skip_below,
                       Optional<Tile_BufferType>:$skip_buffer, UnitAttr:$over_splits);
  let results = (outs Variadic<Tile_ValType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat =
      "$order (`over_splits` $over_splits^)? (`carry` `(` $carries^ `:` type($carries) `)`)? (`skip` `(` $skip_buffer^ `:` "
      "type($skip_buffer) `)`)? attr-dict-with-keyword $body (`:` type($outputs)^)?";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumCarries() { return getCarries().size(); }
    unsigned getNumFolds() { return getOutputs().size() - getCarries().size(); }
    /// The yielded value of carry or fold `i`.
    ::mlir::Value getYielded(unsigned i);
    /// The value that is 0 at the pairs that the code of a mask removes, or null.
    ::mlir::Value getCondition();
  }];
}

def Tile_YieldOp : Tile_Op<"yield", [
    Pure, Terminator, ParentOneOf<["MapOp", "StreamOp", "ForeachOp"]>]> {
  let summary = "ends a region of the tile dialect";
  let description = "`tile.yield %x : f32`";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ }]>];
}

#endif // PE_DIALECT_TILE_OPS
