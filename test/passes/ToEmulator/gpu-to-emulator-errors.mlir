// RUN: pe-opt %s --split-input-file --verify-diagnostics --pe-gpu-to-emulator

gpu.module @kernels {
  llvm.func @f(%b: i32)
      attributes {nvvm.kernel, pe.frame_words = array<i32: 0>, nvvm.reqntid = array<i32: 32, 1, 1>} {
    // expected-error @below {{'nvvm.read.ptx.sreg.clock' op is not known to the emulator}}
    %clock = nvvm.read.ptx.sreg.clock : i32
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @f(%p: !llvm.ptr<1>, %b: i32)
      attributes {nvvm.kernel, pe.frame_words = array<i32: 0>, nvvm.reqntid = array<i32: 32, 1, 1>} {
    // expected-error @below {{'llvm.atomicrmw' op is not known to the emulator}}
    %old = llvm.atomicrmw max %p, %b monotonic : !llvm.ptr<1>, i32
    llvm.return
  }
}

// -----

gpu.module @kernels {
  llvm.func @f(%b: i32)
      attributes {nvvm.kernel, pe.frame_words = array<i32: 0>, nvvm.reqntid = array<i32: 32, 1, 1>} {
    %x = llvm.mlir.constant(1.0 : f32) : f32
    // expected-error @below {{'llvm.call_intrinsic' op is not known to the emulator}}
    %y = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"(%x) : (f32) -> f32
    llvm.return
  }
}
