//===- Passes.td - the pass pe-tile-to-cpu --------------------------------===//
#ifndef PE_PASSES_TOCPU_PASSES
#define PE_PASSES_TOCPU_PASSES

include "mlir/Pass/PassBase.td"

def PETileToCpuPass : Pass<"pe-tile-to-cpu", "::mlir::ModuleOp"> {
  let summary = "Lower the stages of tile plans to vector code";
  let description = [{
    A stage with a stream and a schedule `#step.cpu` becomes one function of vector, scf and memref ops: its lanes are query
    rows, scores are transposed, contractions use register tiles, and blocks outside the mask are skipped
    (passes/ToCPU/Skeletons.h). Scalar stages become loops, vectorized along their last index if the body permits it
    (passes/ToCPU/VectorLoops.h). A stage that cannot be fused falls back to pe-tile-to-loops with a remark that gives
    the reason.

    ```mlir
    tile.stage @forward forward over ["b", "hq"] schedule #step.cpu<...> { ... tile.stream ... }
    ==>
    func.func @attention_forward(%q: memref<1xf32>, ..., %sizes: memref<11xi64>, %item: index) { ... vector.fma ... }
    tile.launch @attention_forward forward items "b*hq*ceildiv(r,256)" (%q, ...) : ...
    ```
    Example: test/passes/ToCPU/tile-to-cpu.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // PE_PASSES_TOCPU_PASSES
