//===- Passes.td - the pass of this room ----------------------------------===//
#ifndef PE_PASSES_TOCPU_PASSES
#define PE_PASSES_TOCPU_PASSES

include "mlir/Pass/PassBase.td"

def PETileToCpuPass : Pass<"pe-tile-to-cpu", "::mlir::ModuleOp"> {
  let summary = "Turn every stage of every tile plan into vector code";
  let description = [{
    A stage with a stream and a `cpu_schedule` becomes one function of vector, scf and memref ops: lanes along query
    rows, scores transposed, register tiles, blocks outside the mask skipped (passes/ToCPU/Skeletons.h). Scalar
    stages become loops, on vectors along their last index where the body has such a form
    (passes/ToCPU/VectorLoops.h). A form that cannot be fused falls back to pe-tile-to-loops with a remark
    that says why.

    ```mlir
    tile.stage @forward forward over ["b", "hq"] attributes {cpu_schedule = ...} { ... tile.stream ... }
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
