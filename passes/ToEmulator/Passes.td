//===- Passes.td - the pass of this room ----------------------------------===//
#ifndef PE_PASSES_TOEMULATOR_PASSES
#define PE_PASSES_TOEMULATOR_PASSES

include "mlir/Pass/PassBase.td"

def PEGpuToEmulatorPass : Pass<"pe-gpu-to-emulator", "::mlir::ModuleOp"> {
  let summary = "Turn GPU kernels into host functions that the emulator runs";
  let description = [{
    Every kernel of a `gpu.module` (LLVM dialect and NVVM ops) becomes a host function with the ABI of a compiled
    stage, whose work item is a CTA. Special registers, shared memory, barriers, collectives of a warp and asynchronous
    copies become calls of `pe_emu_*` (runtime/device/emulator), which get the operation's location as text; every
    access to memory is checked. `drop-sync` leaves out the N-th synchronising operation of the
    module, to check that tests notice (counted from 0; -1: none); a dropped atomic counter yields
    the CTA's index in the grid.

    ```mlir
    gpu.module @kernels { llvm.func @f(%q: !llvm.ptr<1>, ..., %b: i32, ...) attributes {nvvm.kernel, pe.frame_words = ..., ...} { nvvm.barrier ... } }
    ==>
    llvm.func @f.thread(%buffers: !llvm.ptr, %sizes: !llvm.ptr) { llvm.call @pe_emu_barrier(%where) ... }
    llvm.func @f(%buffers: !llvm.ptr, %sizes: !llvm.ptr, %item: i64) { llvm.call @pe_emu_launch(...) }
    ```
    Example: test/passes/ToEmulator/gpu-to-emulator.mlir
  }];
  let options = [
    Option<"dropSync", "drop-sync", "int64_t", "-1", "synchronising operation to leave out">
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // PE_PASSES_TOEMULATOR_PASSES
