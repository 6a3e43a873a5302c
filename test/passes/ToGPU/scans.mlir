// RUN: pe-opt %examples/stick_breaking.mlir --pe-to-tile-pipeline="grad=0 dtype=bf16" \
// RUN:   --pe-schedule-gpu="set=inner_block=32,owner_tiles=1" --pe-tile-to-gpu | FileCheck %s
// RUN: pe-opt %examples/stick_breaking.mlir --pe-to-tile-pipeline="grad=0 dtype=bf16" \
// RUN:   --pe-schedule-gpu="set=inner_block=32,owner_tiles=1" --pe-tile-to-gpu | FileCheck %s --check-prefix=COUNT
// RUN: pe-opt %examples/stick_breaking.mlir --pe-to-tile-pipeline="grad=0 dtype=bf16" \
// RUN:   --pe-schedule-gpu="set=inner_block=32,owner_tiles=1" --pe-tile-to-gpu | FileCheck %s --check-prefix=VOTE

// A lane has eight keys of a row. Four of them take one reciprocal, of the product of two products
// p (1 + u) = p u + p.
// CHECK:      %[[A1:.*]] = arith.addf %[[U1:.*]], %{{.*}} : f32
// CHECK-NEXT: %[[P:.*]] = llvm.intr.fma(%[[A1]], %[[U2:.*]], %[[A1]])
// CHECK:      %[[A3:.*]] = arith.addf %[[U3:.*]], %{{.*}} : f32
// CHECK-NEXT: %[[Q:.*]] = llvm.intr.fma(%[[A3]], %[[U4:.*]], %[[A3]])
// CHECK-NEXT: %[[PQ:.*]] = arith.mulf %[[P]], %[[Q]]
// CHECK-NEXT: %[[R:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[PQ]])
// CHECK-NEXT: %[[S:.*]] = arith.mulf %[[R]], %[[Q]]
// CHECK:      %[[R2:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
// CHECK:      %[[LANE:.*]] = arith.mulf %[[R]], %[[R2]]
// The quad multiplies factors in two steps.
// CHECK:      %[[OTHER:.*]] = nvvm.shfl.sync {{ *}}bfly %{{.*}}, %[[LANE]],
// CHECK:      %[[PAIR:.*]] = arith.mulf %[[LANE]], %[[OTHER]]
// CHECK:      nvvm.shfl.sync {{ *}}bfly %{{.*}}, %[[PAIR]],
// The states after the second and the fourth key precede those before them.
// CHECK:      %[[Y2:.*]] = arith.mulf %[[BEFORE:.*]], %[[S]]
// CHECK-NEXT: llvm.intr.fma(%[[Y2]], %[[U2]], %[[Y2]])
// CHECK-NEXT: %[[Y4:.*]] = arith.mulf %[[BEFORE]], %[[R]]
// CHECK-NEXT: llvm.intr.fma(%[[Y4]], %[[U4]], %[[Y4]])
// CHECK-NEXT: arith.mulf %[[Y4]],

// Two rows of two batches: 16 exponentials and 4 reciprocals.
// COUNT-COUNT-16: llvm.nvvm.ex2.approx.ftz.f
// COUNT-NOT:      llvm.nvvm.ex2
// COUNT-COUNT-4:  llvm.nvvm.rcp.approx.ftz.f
// COUNT-NOT:      llvm.nvvm.rcp

// The threads vote whether mass is left at the barrier before a step, which has no other barrier.
// VOTE:       scf.for
// VOTE:       nvvm.cp.async.wait.group 0
// VOTE-NOT:   nvvm.barrier{{$}}
// VOTE:       %[[SUM:.*]] = nvvm.barrier #nvvm.reduction<or> %{{.*}} -> i32
// VOTE-NEXT:  %{{.*}} = arith.constant 0 : i32
// VOTE-NEXT:  %[[ANY:.*]] = arith.cmpi ne, %[[SUM]]
// VOTE-NEXT:  scf.if %[[ANY]]
// VOTE-NOT:   nvvm.barrier
// VOTE:       llvm.return
