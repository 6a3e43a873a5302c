// RUN: pe-opt %s --pe-gpu-to-emulator | FileCheck %s
// RUN: pe-opt %s --pe-gpu-to-emulator=drop-sync=0 | FileCheck %s --check-prefix=DROP

// The barrier is the first synchronizing operation. Without it the count does not change.
// DROP: module attributes {pe.emulated_syncs = 2 : i64}
// DROP-NOT: llvm.call @pe_emu_barrier
// DROP: llvm.call @pe_emu_collective

// CHECK: module attributes {pe.emulated_syncs = 2 : i64}
// CHECK-NOT: gpu.module
// CHECK: llvm.mlir.global internal constant @pe_emu_place{{[0-9]+}}("{{.*}} at {{.*}}gpu-to-emulator.mlir
// CHECK: llvm.func internal @copy.thread(%[[BUFFERS:.*]]: !llvm.ptr, %[[SIZES:.*]]: !llvm.ptr)
// CHECK: %[[FRAME:.*]] = llvm.alloca
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// Words of the call are loaded by index: a size as 32 bits, a stride as 64.
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[SIZES]][3]
// CHECK: %[[WORD:.*]] = llvm.load %[[PLACE]] : !llvm.ptr -> i64
// CHECK: llvm.trunc %[[WORD]] : i64 to i32
// CHECK: %[[STRIDE:.*]] = llvm.getelementptr %[[SIZES]][11]
// CHECK: llvm.load %[[STRIDE]] : !llvm.ptr -> i64
// CHECK-NOT: llvm.trunc
// CHECK: %[[T:.*]] = llvm.call @pe_emu_thread() : () -> i32
// CHECK: llvm.call @pe_emu_shared() : () -> !llvm.ptr
// A read of global memory has no flags.
// CHECK: %[[NONE:.*]] = llvm.mlir.constant(0 : i32) : i32
// CHECK: llvm.call @pe_emu_access(%{{.*}}, %{{.*}}, %[[NONE]], %{{.*}})
// CHECK: %[[X:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f32
// A write of shared memory has the flags 3.
// CHECK: %[[FLAGS:.*]] = llvm.mlir.constant(3 : i32) : i32
// CHECK: llvm.call @pe_emu_access(%{{.*}}, %{{.*}}, %[[FLAGS]], %{{.*}})
// CHECK: llvm.store
// CHECK: llvm.call @pe_emu_barrier(%{{.*}}) : (!llvm.ptr) -> ()
// CHECK: llvm.store %{{.*}}, %{{.*}} : f32, !llvm.ptr
// CHECK: llvm.call @pe_emu_collective
// CHECK: llvm.call @pe_emu_exp2(%{{.*}}) : (f32) -> f32
// CHECK: llvm.func @copy(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64)
// CHECK: llvm.call @pe_emu_launch
gpu.module @kernels {
  llvm.mlir.global external @pe_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  llvm.func @copy(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %r: i32, %pitch: i64)
      attributes {gpu.kernel, nvvm.kernel, pe.frame_words = array<i32: 3, 11>, nvvm.reqntid = array<i32: 32, 1, 1>,
          pe.shared_bytes = 128 : i32} {
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %shared = llvm.mlir.addressof @pe_shared : !llvm.ptr<3>
    %from = llvm.getelementptr %x[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %value = llvm.load %from : !llvm.ptr<1> -> f32
    %to = llvm.getelementptr %shared[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %value, %to : f32, !llvm.ptr<3>
    nvvm.barrier
    %all = llvm.mlir.constant(-1 : i32) : i32
    %one = llvm.mlir.constant(1 : i32) : i32
    %clamp = llvm.mlir.constant(31 : i32) : i32
    %other = nvvm.shfl.sync bfly %all, %value, %one, %clamp : f32 -> f32
    nvvm.bar.warp.sync %all : i32
    %power = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%other) : (f32) -> f32
    %out = llvm.getelementptr %y[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %power, %out : f32, !llvm.ptr<1>
    llvm.return
  }
}
