//===- Passes.td - the passes of this room --------------------------------===//
#ifndef PE_PASSES_TOGPU_PASSES
#define PE_PASSES_TOGPU_PASSES

include "mlir/Pass/PassBase.td"

def PETileToGpuPass : Pass<"pe-tile-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Turn every stage of every tile plan into GPU kernels";
  let description = [{
    A stage with a stream and a `gpu_schedule` becomes a kernel on matrix fragments (passes/ToGPU/FragmentKernel.h);
    stages of values and scalar stages become kernels of plain threads. Kernels hold arith, scf, math, llvm and nvvm
    ops; nothing in them is specific to one chip of the sm_80 family or newer. What has no kernel is refused at its
    location.

    ```mlir
    tile.stage @forward forward over ["b", "hq"] attributes {gpu_schedule = ...} { ... tile.stream ... }
    ==>
    gpu.module @kernels { llvm.func @attention_forward(%q: !llvm.ptr<1>, ..., %b: i32, ...) { ... nvvm.mma.sync ... } }
    tile.launch @attention_forward forward items "b*hq*ceildiv(r,64)" (%q, ...) {threads = 128, shared_bytes = ...} : ...
    ```
    Example: test/passes/ToGPU/tile-to-gpu.mlir
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

#endif // PE_PASSES_TOGPU_PASSES
