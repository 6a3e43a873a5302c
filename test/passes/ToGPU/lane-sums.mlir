// RUN: pe-opt %examples/nope.mlir --pe-to-tile-pipeline \
// RUN:   --pe-schedule-gpu="set=inner_block=16,owner_tiles=1" --pe-hoist-row-values --pe-split-sums \
// RUN:   --pe-divide-loops --pe-tile-to-gpu | FileCheck %s

// The quad reduces the maximum of its two rows in every block. The sum of the weights, which later
// blocks only multiply by a factor of the row and add to, stays divided among the lanes: the first
// lane begins with the start value, and the quad reduces the parts after the loop.
// CHECK-LABEL: llvm.func @attention_attention_forward
// CHECK: %[[ISFIRST:[0-9]+]] = arith.cmpi eq
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: arith.select %[[ISFIRST]], %{{.*}}, %[[ZERO]] : f32
// CHECK: %[[SUMS:[0-9]+]]:36 = scf.for
// CHECK-COUNT-4: nvvm.shfl.sync  bfly
// CHECK-NOT: nvvm.shfl
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: scf.yield
// CHECK: %[[OTHER:[0-9]+]] = nvvm.shfl.sync  bfly %{{.*}}, %[[SUMS]]#2,
// CHECK-NEXT: %[[TWO:[0-9]+]] = arith.addf %[[SUMS]]#2, %[[OTHER]]
// CHECK: nvvm.shfl.sync  bfly %{{.*}}, %[[TWO]],
// CHECK: nvvm.shfl.sync  bfly %{{.*}}, %[[SUMS]]#3,
