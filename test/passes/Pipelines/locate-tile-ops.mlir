// RUN: pe-opt %s --pe-locate-tile-ops --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// RUN: pe-opt %s --pe-locate-tile-ops --pe-tile-to-gpu --mlir-print-debuginfo --mlir-print-local-scope \
// RUN:   | FileCheck %s --check-prefix=GPU
// The attribute is the printed program, and the location of each op is its line there.
// CHECK:      pe.listing = "module {\0A
// CHECK-SAME: \0A tile.foreach over [\22r\22] {\0A
// CHECK-NOT:  locate-tile-ops.mlir
// CHECK:      tile.buffer "x" {{.*}} loc("tile":3:
// CHECK:      tile.stage @double
// CHECK:      tile.read {{.*}} loc("tile":8:
// CHECK-NEXT: arith.addf {{.*}} loc("tile":9:
// CHECK:      } loc("tile":5:

// Code of a kernel has the location of its loop or, outside all loops, of its stage.
// GPU: gpu.module @kernels
// GPU: nvvm.read.ptx.sreg.ctaid.x : i32 loc("tile":5:
// GPU: llvm.load {{.*}} loc("tile":6:
// GPU: llvm.return loc("tile":5:
tile.plan @attention attributes {head_dim = 0, value_dim = 0} {
  %x = tile.buffer "x" argument : !tile.buffer<[r], f32>
  %y = tile.buffer "y" result : !tile.buffer<[r], f32>
  tile.stage @double forward over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %a = tile.read %x[%i] : !tile.buffer<[r], f32> -> f32
      %b = arith.addf %a, %a : f32
      tile.write %b, %y[%i] : f32 -> !tile.buffer<[r], f32>
    }
  }
}
