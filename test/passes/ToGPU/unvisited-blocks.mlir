// RUN: pe-opt %examples/nope.mlir --pe-to-tile-pipeline="grad=1" --pe-schedule-gpu --pe-hoist-row-values \
// RUN:     --pe-tile-to-gpu | FileCheck %s
// RUN: pe-opt %examples/nope.mlir --pe-to-tile-pipeline --pe-schedule-gpu --pe-tile-to-gpu \
// RUN:   | FileCheck %s --check-prefix=FORWARD

// Columns own the loop of backward, so d_q is a sum across CTAs. A warp per block of rows tests
// whether a block of columns visits it, and writes zeros only if none does. The grid depends on
// sizes only.
// CHECK:      tile.launch @attention_attention_backward_clear backward items "ceildiv(b*hq*ceildiv(r,32),4)"
// CHECK-SAME: (%{{[0-9]+}})
// CHECK:      tile.launch @attention_attention_backward backward
// CHECK:      llvm.func @attention_attention_backward_clear(
// CHECK:      %[[NONE:.*]] = arith.cmpi eq
// CHECK:      %[[EXISTS:.*]] = arith.cmpi slt
// CHECK:      %[[BOTH:.*]] = arith.andi %[[EXISTS]], %[[NONE]]
// CHECK:      scf.if %[[BOTH]] {
// CHECK:        scf.for
// CHECK:          scf.for
// CHECK:            llvm.store %cst{{.*}} : f32, !llvm.ptr<1>
// CHECK:      llvm.return

// Forward sums over columns in one CTA, so nothing needs zeros.
// FORWARD-NOT: _clear
// FORWARD:     tile.launch @attention_attention_forward
// FORWARD-NOT: _clear
