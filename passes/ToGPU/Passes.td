//===- Passes.td - the passes to GPU kernels ------------------------------===//
#ifndef PE_PASSES_TOGPU_PASSES
#define PE_PASSES_TOGPU_PASSES

include "mlir/Pass/PassBase.td"

def PEHoistRowValuesPass : Pass<"pe-hoist-row-values", "::mlir::ModuleOp"> {
  let summary = "Move row values that every CTA would recompute to a separate stage";
  let description = [{
    A CTA owns a block of rows or of columns (field `owner` of the schedule). A value over r that the stream uses and that is computed,
    not loaded, moves to a stage before this one, which stores it; the stream loads it. If columns own the loop, this applies to
    all such values, because every block of columns visits all rows. If rows own it, this applies to results of a reduction, such
    as the row sum of o and dO, because fragments have no panels to reduce. Stores that only use such a value move with it.

    ```mlir
    tile.stage @backward backward over ["b", "hkv"] schedule #step.gpu<owner = columns, ...> {
      %o = tile.load %O ... %do = tile.load %DO ... %delta = tile.reduce add over e (o * do)
      tile.stream { ... %delta ... }
    }
    ==>
    tile.stage @backward_rows backward over ["b", "hq"] { ... tile.store %delta, %rows0 ... }
    tile.stage @backward backward over ["b", "hkv"] schedule #step.gpu<owner = columns, ...> {
      %delta = tile.load %rows0 ...
      tile.stream { ... %delta ... }
    }
    ```
    Example: test/passes/ToGPU/hoist-row-values.mlir
  }];
  let dependentDialects = ["::mlir::tile::TileDialect"];
}

def PERescaleRarelyPass : Pass<"pe-rescale-rarely", "::mlir::ModuleOp"> {
  let summary = "Raise the running maximum of a softmax only if scores exceed it by more than `slack`";
  let description = [{
    A softmax over blocks of keys raises a maximum per row with every block and multiplies the sums that it carries, which at
    depth 128 costs more instructions than the exponents of the block. If the products of weights have operands of 16 bits, the
    pass replaces this by `tile.rescale`: weights are at most 2^slack instead of 1, and most steps multiply nothing. With a
    unit, such as the scale of products, the exponent is one fused multiply-add.

    The maximum must be used in differences from the scores or the maximum before it, and the power of the latter in products
    with carries. Others stay, such as those of softpick, which also subtracts 2^-m.

    ```mlir
    %n = tile.reduce max over c %s ...      %m1 = tile.map(%m, %n) { max }
    %a = tile.map(%m, %m1) { exp2((m - m1) * 0.18) }
    %p = tile.map(%s, %m1) { exp2((s - m1) * 0.18) }      %l1 = tile.map(%l, %a, %sum) { l * a + sum }
    ==>
    %x, %offset, %m1, %l0 = tile.rescale %s from %m (%l) unit 0.18 slack 8.0 ...
    %p = tile.map(%x, %offset) { exp2(fma(x, 0.18, offset)) }      %l1 = tile.map(%l0, %sum) { l0 + sum }
    ```
    Example: test/passes/ToGPU/rescale-rarely.mlir
  }];
  let options = [Option<"slack", "slack", "double", "8.0", "the most, in units of log2, by which a score may exceed the maximum">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::tile::TileDialect"];
}

def PESpillPairsPass : Pass<"pe-spill-pairs", "::mlir::ModuleOp"> {
  let summary = "Keep pairs in memory for products that CTAs would add up in turns";
  let description = [{
    The CTAs of a head that own columns add their products over columns (dQ = dS K) in memory, one after the other; if rows
    own, it is the products over rows. If all such sums of a backward stage are products of pairs of `bits` and a depth is at
    least `depth`, the pass adds two stages. The first one, `_pairs`, computes everything else and stores the pairs; the
    second one, `_products`, with the other owner, loads them and adds up the products in registers. Both run if the pairs of
    the call need at most `memory` MiB, and the stage itself otherwise. The pass runs before `pe-schedule-gpu`, which schedules
    all three.

    ```mlir
    tile.stage @backward backward over ["b", "hkv"] { %dq, %dk = tile.stream { ... %ds ... yield %ds_k, %ds_q } store %dq ... }
    ==>
    tile.stage @backward_pairs backward over ["b", "hkv"] when "65537-b*hq*ceildiv(c,64)*ceildiv(r,128)" {
      %dk = tile.stream { ... tile.store %ds, %pairs  yield %ds_q } ...
    }
    tile.stage @backward_products backward over ["b", "hq"] when "65537-b*hq*ceildiv(c,64)*ceildiv(r,128)" {
      %dq = tile.stream { %ds = tile.load %pairs  %ds_k = tile.dot %ds, %k over c  yield %ds_k } store %dq ...
    }
    tile.stage @backward backward over ["b", "hkv"] when "b*hq*ceildiv(c,64)*ceildiv(r,128)-65536" { ... }
    ```
    Example: test/passes/ToGPU/spill-pairs.mlir
  }];
  let options = [
    Option<"memory", "memory", "int64_t", "1024", "the most memory for pairs, in MiB; 0: never">,
    Option<"depth", "depth", "int64_t", "72", "the least head or value dim">,
    Option<"bits", "bits", "int64_t", "16", "the width of pairs, which is 16 in kernels">,
    Option<"machine", "machine", "std::string", "\"sm_86\"", "a GPU of runtime/plan/Machine.h">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect"];
}

def PESplitSumsPass : Pass<"pe-split-sums", "::mlir::ModuleOp"> {
  let summary = "Give sums that work items share a slot per block";
  let description = [{
    The pairs of a stage with a stream and a schedule `#step.gpu` add to buffers of a head: `tile.accumulate`,
    `tile.segments_grad` and `tile.window_grad`. CTAs that own different blocks of the head would share these elements. The
    pass makes each add to a temporary with `slots` instead, and a stage after this one adds the slots to the buffer, in
    order. A sum of few elements per head has a slot per block of owners. So has a table of distances, up to 256 slots; in
    longer sequences, CTAs of one slot take turns. The number of slots depends on the schedule and the lengths only, so
    results do not depend on the machine's number of cores. Sums per row or column and sums of an element per pair stay
    unchanged; so do sums at places that `pe-tile-to-gpu` refuses.

    ```mlir
    tile.stage @backward ... schedule #step.gpu<owner = columns, ...> { ... tile.window_grad %ds, %G ... }
    ==>
    %slots = tile.buffer "backward_slots0" temporary slots <c by 64> {zero}
        : !tile.buffer<[b, hq, "min(ceildiv(c,64),256)", t], f32>
    tile.stage @backward ... schedule #step.gpu<owner = columns, ...> { ... tile.window_grad %ds, %slots ... }
    tile.stage @backward_slots0 backward over [] {
      tile.foreach over ["b", "hq", "min(ceildiv(c,64),256)", "t"] { G[b, h, t] += slots[b, h, n, t] }
    }
    ```
    Example: test/passes/ToGPU/split-sums.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tile::TileDialect"];
}

def PELayOutTablesPass : Pass<"pe-lay-out-tables", "::mlir::ModuleOp"> {
  let summary = "Lay out vectors of the distance as operands of matrix products";
  let description = [{
    `tile.window_dot` and `tile.window_sum` contract with a table [d, t] in f32. The pass adds a stage that writes it as
    [t, d], rounded to the type of the operands, with zeros after the last distance. Kernels copy blocks of these vectors like
    other panels.

    ```mlir
    %x = tile.window_dot %q, %P : !tile.val<[r, d], bf16>, !tile.buffer<[d, t], f32> -> ...
    ==>
    tile.stage @forward_vectors0 forward over [] { tile.foreach over ["t", "d"] { vectors[t, d] = truncf P[d, t] } }
    ... %x = tile.window_dot %q, %vectors : !tile.val<[r, d], bf16>, !tile.buffer<[t, d], bf16> -> ...
    ```
    Example: test/passes/ToGPU/windows.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tile::TileDialect"];
}

def PEDivideLoopsPass : Pass<"pe-divide-loops", "::mlir::ModuleOp"> {
  let summary = "Divide long sums to few elements among workers";
  let description = [{
    A scalar loop that only adds to a few elements, such as the chain from sums per distance to the parameters of a bias,
    has no index that could be divided among threads without two of them adding to one element. The pass divides it among workers,
    the lanes of warps: a worker executes every n-th iteration and adds to its own elements. If it has one element of a sum, the lanes of
    a warp add theirs as a tree to that of their group. A stage before the first use of the sums combines the groups, or the elements of
    all workers, of all divided loops with the same target; a warp combines an element.

    The number of workers is a function of the extents alone, so results are the same on every machine: one per iteration until all
    have 8192 elements, but at least 256 workers (32 if 1024 threads exist without them), then as few as execute at most 256 iterations
    each. A lane that combines more than 256 parts combines blocks of 256 first. Thus no thread adds more than 256 numbers in a row
    for up to 2^24 iterations (test/passes/ToGPU/additions-in-a-row.test).

    Loops stay unchanged if rows, columns or distances are parallel indices, or if they change memory other than by adding (or by one
    of maximum and minimum per buffer), add to more than 4096 elements, or have sums that a later loop of the same stage reads. Maxima
    and minima are divided in the same way; a stage before the loop initializes their elements with the neutral value.

    ```mlir
    tile.stage @finish finish over [] {
      tile.foreach over ["hq", "r + c - 1"] { ^bb0(%h: index, %t: index): ... tile.accumulate %x, %G[%bucket, %h] ... }
    }
    ==> with n groups, "ceildiv(min(max(1,r+c-1),max(256,ceildiv(max(1,r+c-1),256))),32)"
    tile.stage @finish finish over [] {
      tile.foreach over ["hq", "n", "32"] { ^bb0(%h: index, %g: index, %lane: index):
        scf.for %i = 32 g + lane to r + c - 1 step 32 n { ... tile.accumulate %x, %workers[%g, %bucket, %h, %lane] ... }
      }
    }
    tile.stage @finish_workers finish over [] {
      tile.foreach over ["32", "hq", "32"] { ^bb0(%e: index, %h: index, %lane: index):
        %sum = scf.for %g = 0 to n { ... + workers[%g, %e, %h, %lane] }
        tile.accumulate %sum, %G[%e, %h] ...
      }
    }
    ```
    Example: test/passes/ToGPU/divide-loops.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::tile::TileDialect"];
}

def PEFuseLoopsPass : Pass<"pe-fuse-loops", "::mlir::ModuleOp"> {
  let summary = "Fuse scalar loops of which an iteration only waits for the same iteration of an earlier one";
  let description = [{
    A launch between two loops makes every iteration of the second wait for all of the first. If an iteration uses, of the elements that
    the other loop changes, only those of the same iteration, one thread can execute both: the second body moves to the end
    of the first. A stage without loops is removed.

    If the lanes of a warp add the sums of the first loop (LoopIndices.h), the second body becomes code of the last lane.
    The loops have otherwise the same extents, phase and `when`; both use a buffer that one of them changes at the same element, which belongs
    to one iteration; and no loop between them, which the second body passes, conflicts with it. Stages with values or a stream are
    not passed.

    ```mlir
    tile.stage @a finish over [] { tile.foreach over ["32"] { ^bb0(%i: index): ... tile.accumulate %x, %sums[%i] } }
    tile.stage @b finish over [] { tile.foreach over ["32"] { ^bb0(%i: index): %s = tile.read %sums[%i] ... tile.write %s, %G[%i] } }
    ==>
    tile.stage @a finish over [] {
      tile.foreach over ["32"] { ^bb0(%i: index): ... tile.accumulate %x, %sums[%i]  %s = tile.read %sums[%i] ... tile.write %s, %G[%i] }
    }
    ```
    Example: test/passes/ToGPU/fuse-loops.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::tile::TileDialect"];
}

def PETileToGpuPass : Pass<"pe-tile-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Lower the stages of tile plans to GPU kernels";
  let description = [{
    A stage with a stream and a schedule `#step.gpu` becomes a kernel on matrix fragments (passes/ToGPU/FragmentKernel.h);
    stages of values and scalar stages become kernels without fragments. `pe-hoist-row-values` and `pe-divide-loops` run
    before. Kernels consist of arith, scf, math, llvm and nvvm ops, and run on every chip from sm_80 on. A stage that has no
    kernel is reported at its location.

    ```mlir
    tile.stage @forward forward over ["b", "hq"] schedule #step.gpu<...> { ... tile.stream ... }
    ==>
    gpu.module @kernels { llvm.func @attention_forward(%q: !llvm.ptr<1>, ..., %b: i32, ...) { ... nvvm.mma.sync ... } }
    tile.launch @attention_forward forward items "b*hq*ceildiv(r,64)" (%q, ...) {threads = 128, shared_bytes = ...} : ...
    ```
    Example: test/passes/ToGPU/tile-to-gpu.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def PEMergeLaunchesPass : Pass<"pe-merge-launches", "::mlir::ModuleOp"> {
  let summary = "Merge launches that do not depend on each other";
  let description = [{
    A short call costs as much as its launches, which wait for each other. A launch joins the first earlier launch from which on no
    launch writes a buffer that it uses, or uses a buffer that it writes. The first CTAs of the merged kernel execute one
    kernel, the others the other, so every thread executes the same instructions in the same order as before.

    Launches are merged if they have as many threads per CTA and no shared memory, and belong to the same calls: both to forward,
    or both to backward and finish, with the same `when`. Launches of preparation stay apart, because a caller may pass results
    of an earlier preparation, which must not be computed again.

    ```mlir
    tile.launch @a_x backward items "b*hq" (%q, %x) {threads = 128, writes = array<i64: 1>, ...} : ...
    tile.launch @a_y backward items "ceildiv(r,4)" (%q, %y) {threads = 128, writes = array<i64: 1>, ...} : ...
    ==>
    llvm.func @a_x_and_y(...) { scf.if (CTA < b * hq) { x } else { y, with CTA - b * hq as its CTA } }
    tile.launch @a_x_and_y backward items "b*hq+ceildiv(r,4)" (%q, %x, %y) {threads = 128, writes = array<i64: 1, 2>, ...} : ...
    ```
    Example: test/passes/ToGPU/merge-launches.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tile::TileDialect"];
}

#endif // PE_PASSES_TOGPU_PASSES
