//===- TilePlans.td - Plans: parameters, buffers, masks and stages --------===//
#ifndef PE_DIALECT_TILE_PLANS
#define PE_DIALECT_TILE_PLANS

include "TileInterfaces.td"
include "TileBase.td"

def Tile_PlanOp : Tile_Op<"plan", [
    IsolatedFromAbove, Symbol, SymbolTable, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "a compiled function: its buffers and stages";
  let description = [{
    `head_dim` (d) and `value_dim` (e) are the depths for which the plan is specialized; every other
    extent is known only at run time. A forward call runs the stages of phase `prepare` and
    `forward` in order, and a backward call those of `backward` and `finish`. An algorithm may store
    data per block of keys (extent `kb`) without knowing the size of a block. Schedules choose the
    size and set `key_block` (extent `kb` = ceildiv(c, key_block)). Every stage that accesses a `kb`
    buffer uses exactly this block of keys. Schedules also set `distance_padding`, the number of
    entries after the last distance (extent `t` = r + capacity + distance_padding) that loads of an entire
    vector may access. `key_split` is the number of keys of a split (extent `ks` = ceildiv(c,
    key_split)): stages over `ks` visit the keys of one split each. Schedules round it up to entire
    blocks of keys. Splits follow from c alone, so results do not depend on the threads.

    For counting useful work, a plan with one attention states which pairs it keeps: those with
    `mask_low` <= i - j <= `mask_high` (either may be absent), or all with `mask_none`. A plan with
    `unplaced` reads no position, so its stages use 0 for `q_start` and `k_start`.

    ```mlir
    tile.plan @attention attributes {head_dim = 64, value_dim = 64} {
      tile.parameter "k_start" default "0"
      %q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
      tile.stage @forward forward over [b, hq] { ... }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$head_dim, I64Attr:$value_dim,
                       OptionalAttr<I64Attr>:$key_block, OptionalAttr<I64Attr>:$key_split,
                       DefaultValuedAttr<I64Attr, "0">:$distance_padding,
                       OptionalAttr<I64Attr>:$mask_low, OptionalAttr<I64Attr>:$mask_high,
                       UnitAttr:$mask_none, UnitAttr:$unplaced);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns true if there is a `tile.parameter` with this name.
    bool hasParameter(::llvm::StringRef name);
  }];
}

def Tile_ParameterOp : Tile_Op<"parameter", [HasParent<"PlanOp">]> {
  let summary = "declares a scalar that a call may pass by name";
  let description = [{
    Declares an integer in [-2^30, 2^30]; the host checks the range. `default`, a size expression over the sizes
    and the preceding parameters, is its value if a call omits it; without a default it is required.
    `tile.size` reads it. Row r is at position `q_start + r` and column c at `k_start + c` if the
    plan declares these two parameters; otherwise positions start at 0.

    ```mlir
    tile.parameter "k_start" default "0"
    tile.parameter "q_start" default "k_start + c - r"
    ```
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<StrAttr>:$fallback);
  let assemblyFormat = "$name (`default` $fallback^)? attr-dict";
  let hasVerifier = 1;
}

def Tile_ExtentOp : Tile_Op<"extent", [HasParent<"PlanOp">]> {
  let summary = "declares a size that the tensors of a call determine";
  let description = [{
    Declares an extent in addition to b hq hkv r c d e, which every plan has. Extents, `over` and `tile.size`
    may use it.

    ```mlir
    tile.extent "m"
    %x = tile.buffer "x" argument : !tile.buffer<[b, m], f32>
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let assemblyFormat = "$name attr-dict";
  let hasVerifier = 1;
}

def Tile_RequireOp : Tile_Op<"require", [HasParent<"PlanOp">]> {
  let summary = "declares a requirement on a call";
  let description = [{
    `size` must be at least `least`. Both are expressions over sizes and parameters. The requirement
    is checked before a call computes anything. If it does not hold, the call fails with a message that
    contains `what`, a description of the size.

    ```mlir
    tile.require "cos_positions" at_least "k_start + c" of "rows of tensor 'cos', one per position"
    ```
  }];
  let arguments = (ins StrAttr:$size, StrAttr:$least, StrAttr:$what);
  let assemblyFormat = "$size `at_least` $least `of` $what attr-dict";
  let hasVerifier = 1;
}

def Tile_RequireValuesOp : Tile_Op<"require_values", [HasParent<"PlanOp">]> {
  let summary = "declares a requirement on the values of an argument";
  let description = [{
    Every element of the i32 argument `tensor` must be in [`first`, `last`], two expressions over
    sizes and parameters. With `ascending`, the elements begin at `first`, do not decrease, and end
    at `last`. The requirement is checked before any work if the tensor is in host memory.

    ```mlir
    tile.require_values "cu_seqlens" ascending from "0" to "k_start + c"
    tile.require_values "q_pos" from "0" to "1073741823"
    ```
  }];
  let arguments = (ins StrAttr:$tensor, UnitAttr:$ascending, StrAttr:$first, StrAttr:$last);
  let assemblyFormat = "$tensor (`ascending` $ascending^)? `from` $first `to` $last attr-dict";
  let hasVerifier = 1;
}

def Tile_BufferOp : Tile_Op<"buffer", [HasParent<"PlanOp">]> {
  let summary = "declares a buffer of the plan";
  let description = [{
    Arguments, results, cotangents and gradients belong to the caller and have its names. A
    `residual` lives from the forward call to the backward call, and a `temporary` within one call.
    A `zero` buffer is filled with zeros before the first stage of the call that uses it. In a
    `strided` buffer the last axis is contiguous, the strides of the other axes are words of the
    call's frame, and every row starts at a multiple of 16 bytes. Other buffers are row-major and
    dense. The attributes of an encoding parameter (`pe.init`, `pe.min`, `pe.decay`, `pe.monitor`)
    are preserved.

    An argument with `pages` is a pool of pages: row j of `[b, hkv, c, d]`, as which stages load it, is
    row j mod page of page table[b, j / page], where the table is the named argument of i32 with
    extents b and ceildiv(c,page).

    A temporary with `slots` holds partial sums: its third extent, after b and hq, is their number.
    `tile.window_grad` and `tile.segments_grad` add to the slot of the pair, and the third index of
    a `tile.accumulate` in a map over pairs is that slot. `pe-split-sums` creates such buffers.

    ```mlir
    %g = tile.buffer "diagonals" temporary {zero} : !tile.buffer<[b, hq, t], f32>
    %p = tile.buffer "k" argument pages "table" {strided} : !tile.buffer<[pages, page, hkv, d], f32>
    %s = tile.buffer "slots" temporary slots <c by 64> {zero} : !tile.buffer<[b, hq, 16, t], f32>
    ```
  }];
  let arguments = (ins StrAttr:$name, Tile_RoleAttr:$role, UnitAttr:$zero, UnitAttr:$strided,
                       OptionalAttr<Tile_SlotsAttr>:$slots, OptionalAttr<StrAttr>:$pages);
  let results = (outs Tile_BufferType:$buffer);
  let assemblyFormat =
      "$name $role (`slots` $slots^)? (`pages` $pages^)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Tile_PairsOp : Tile_Op<"pairs", [
    HasParent<"PlanOp">, Pure, AttrSizedOperandSegments]> {
  let summary = "a mask: the pairs of queries and keys that a stage includes";
  let description = [{
    Includes pairs (i, j) of global positions with i - j < left and j - i < right. An absent bound
    does not restrict the pairs. A query at a negative position attends to nothing. A causal mask
    has `right = 1`. These bounds determine the pairs that a call keeps, per row and per block
    (dialect/Math/KeptPairs.h).

    `columns` adds bounds per row that are read from memory: of the columns that the band keeps, a
    row keeps low[row] <= column < high[row], counted within the call. A stage of phase `prepare`
    computes them from the caller's data. `within` holds the bounds over all rows: no row keeps a
    column before c - reach[0], or a column from reach[1] on. Keys and values there are not read and
    may hold any value.

    `states` belongs to a mask that is scalar code (`tile.mask` with a condition). A state is 0 if
    the code yields false for all pairs of a block, 2 if it yields true for all of them, and 1 if it
    may yield both. The last extents are the numbers of blocks, `ceildiv(r,64)` and `ceildiv(c,64)`
    for blocks of 64 rows and 64 columns. Lowerings, whose blocks may have other sizes, skip blocks
    of state 0 and evaluate the code in blocks of state 1. The states do not include the band and
    the bounds.

    `taken` is 0 for the columns for which that code yields false in all rows and heads. Their keys
    and values are not read.

    ```mlir
    %causal = tile.pairs band(right = 1)
    %prefix = tile.pairs columns(%low, %high : !tile.buffer<[b, r], i32>, !tile.buffer<[b, r], i32>)
        within(%reach : !tile.buffer<[b, 2], i32>)
    %code = tile.pairs states(%states : !tile.buffer<["ceildiv(r,64)", "ceildiv(c,64)"], i32>)
    %some = tile.pairs taken(%taken : !tile.buffer<[b, c], i32>)
    tile.stage @forward forward over ["b", "hq"] pairs %causal { ... }
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$left, OptionalAttr<I64Attr>:$right,
                       Optional<Tile_BufferType>:$low, Optional<Tile_BufferType>:$high,
                       Optional<Tile_BufferType>:$reach, Optional<Tile_BufferType>:$states,
                       Optional<Tile_BufferType>:$taken);
  let results = (outs Tile_PairsType:$pairs);
  let assemblyFormat =
      "custom<Band>($left, $right) (`columns` `(` $low^ `,` $high `:` type($low) `,` type($high) "
      "`)`)? (`within` `(` $reach^ `:` type($reach) `)`)? "
      "(`states` `(` $states^ `:` type($states) `)`)? "
      "(`taken` `(` $taken^ `:` type($taken) `)`)? attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::tile::MaskBand getBand();
  }];
}

def Tile_StageOp : Tile_Op<"stage", [
    HasParent<"PlanOp">, Symbol, NoTerminator, SingleBlock,
    NoRegionArguments]> {
  let summary = "one kernel of the plan";
  let description = [{
    The body runs once for every index of the spaces in `over`, independently and in any order. With
    `over [b, hq]`, the rows belong to one query head; keys and values come from its key head,
    hq / (Hq / Hkv). With `over [b, hkv]`, `r` ranges over the rows of all query heads of that key
    head, head by head, and a value over no space belongs to the head of the row. With `over [b,
    hkv, ks]`, the stream visits the keys of one split, and every result is stored per split.

    A body with a `tile.stream` consists of, in this order, values over r that the stream uses
    (evaluated per row), the stream, and values over r, c or no space that are computed from its
    results and stored. A body without a stream contains `tile.foreach` loops, or maps of values
    over r or c.

    `pairs` applies to the entire stage. Pairs outside it are never part of a reduction, scan, dot
    over r or c, fold or gradient; `tile.mask` defines their value in elementwise results. Without
    `pairs`, a stage includes all pairs whose query is at a nonnegative position.

    `when` is a size expression: a call runs the stage only if it is positive. Stages that write the
    same buffer have conditions of which at most one holds in any call.

    `schedule` has the choices of a machine's schedule, such as `#step.gpu<owner = rows, warps = 4>`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Tile_PhaseAttr:$phase, StrArrayAttr:$over,
                       OptionalAttr<StrAttr>:$when, Optional<Tile_PairsType>:$pairs,
                       OptionalAttr<Tile_ScheduleAttrInterface>:$schedule);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat =
      "$sym_name $phase `over` $over (`when` $when^)? (`pairs` $pairs^)? (`schedule` $schedule^)? "
      "attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The band of the pairs; unbounded without `pairs`.
    ::mlir::tile::MaskBand getBand();
    /// The bounds on the columns of every row, or null.
    ::mlir::Value getLowColumns();
    ::mlir::Value getHighColumns();
    /// The bounds on the columns over all rows, or null.
    ::mlir::Value getReach();
    /// The states of blocks of pairs under the code of the mask, or null.
    ::mlir::Value getBlockStates();
    /// The numbers of rows and columns of a block that has a state; nothing without states.
    ::std::optional<::mlir::tile::StateBlock> getStateBlock();
    /// The columns that the code of the mask keeps in some row, or null.
    ::mlir::Value getTakenColumns();
    /// The buffers of the pairs: bounds, reach, states and columns.
    ::llvm::SmallVector<::mlir::Value> getPairBuffers();
    /// The stage's only stream, or null.
    ::mlir::tile::StreamOp getStream();
    /// Returns true if `over` has this extent.
    bool isOver(::llvm::StringRef extent);
  }];
}

def Tile_LaunchOp : Tile_Op<"launch", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>, HasParent<"PlanOp">]> {
  let summary = "a lowered stage: a function, its number of work items and its buffers";
  let description = [{
    A lowering replaces a `tile.stage` by this op. `callee` is a function of the enclosing module
    with one `memref<1xT>` argument per buffer, then the plan's frame, `memref<Nxi64>`, and an
    `index` work item. With `threads` (per work item) and `shared_bytes`, it is a kernel of the
    nested module `@kernels`, whose arguments are one pointer per buffer, then the `words` of the
    frame: strides as i64, all others as i32. `writes` lists the positions of the buffers that the
    launch may write among its operands; without it, it may write all except the inputs of the call.
    `when` is that of the stage.

    ```mlir
    tile.launch @forward forward items "b*hq*ceildiv(r,96)" (%q, %k, %v, %o) : ...
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Tile_PhaseAttr:$phase, StrAttr:$items,
                       OptionalAttr<StrAttr>:$when, Variadic<Tile_BufferType>:$buffers,
                       OptionalAttr<I64Attr>:$threads,
                       OptionalAttr<I64Attr>:$shared_bytes,
                       OptionalAttr<DenseI32ArrayAttr>:$words,
                       OptionalAttr<DenseI64ArrayAttr>:$writes);
  let assemblyFormat =
      "$callee $phase `items` $items (`when` $when^)? `(` $buffers `)` attr-dict `:` "
      "type($buffers)";
  let hasVerifier = 1;
}

#endif // PE_DIALECT_TILE_PLANS
