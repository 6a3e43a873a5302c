//===- Passes.td - the pass pe-tile-to-loops ------------------------------===//
#ifndef PE_PASSES_TOLOOPS_PASSES
#define PE_PASSES_TOLOOPS_PASSES

include "mlir/Pass/PassBase.td"

def PETileToLoopsPass : Pass<"pe-tile-to-loops", "::mlir::ModuleOp"> {
  let summary = "Lower the stages of tile plans to scalar loops";
  let description = [{
    Implements block algorithms in the simplest way, at any block size and with rows or columns as the
    outer loop. It is the definition of the tile ops, and the fallback for stages that another
    lowering cannot fuse. There is one work item per index of the stage's `over`; carries and folds of
    a stream are stored in temporary buffers that the pass adds to the plan.

    `block-columns` is also the plan's `key_block` if a buffer has extent `kb`. Either owner is
    correct for every stage, because a row visits its key blocks in the stream's order in both cases.
    Blocks that a stream permits to skip (`stop_below`, `skip_below`) are computed unless `use-stop`
    or `use-skip` is set; a block of rows and keys is then skipped only as a unit.

    ```mlir
    tile.stage @forward forward over ["b", "hq"] { ... tile.stream ... }
    ==>
    func.func @attention_forward(%q: memref<1xf32>, ..., %sizes: memref<11xi64>, %item: index) {
      scf.for ...
    }
    tile.launch @attention_forward forward items "b*hq" (%q, ...) : ...
    ```
    Example: test/passes/ToLoops/tile-to-loops.mlir
  }];
  let options = [
    Option<"blockRows", "block-rows", "int64_t", "16", "query rows per block">,
    Option<"blockColumns", "block-columns", "int64_t", "16", "keys per block">,
    Option<"owner", "owner", "::mlir::tile::LoopOwner", "::mlir::tile::LoopOwner::Auto",
           "the outer loop of a stream", [{::llvm::cl::values(
      clEnumValN(::mlir::tile::LoopOwner::Auto, "auto", "the stage's owner, or rows by default"),
      clEnumValN(::mlir::tile::LoopOwner::Rows, "rows", "rows"),
      clEnumValN(::mlir::tile::LoopOwner::Columns, "columns", "columns"))}]>,
    Option<"useStop", "use-stop", "bool", "false",
           "skip blocks that a stream's stop_below permits to skip">,
    Option<"useSkip", "use-skip", "bool", "false",
           "skip blocks that a stream's skip_below permits to skip">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // PE_PASSES_TOLOOPS_PASSES
