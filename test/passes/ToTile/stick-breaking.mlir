// RUN: pe-opt %examples/stick_breaking.mlir --pe-prepare --pe-expand-masks --pe-to-tile="grad=1" | FileCheck %s
// RUN: pe-opt %examples/stick_breaking.mlir --pe-prepare --pe-expand-masks --pe-to-tile="grad=1 early-exit=0" \
// RUN:   | FileCheck %s --check-prefix=ALL

// A causal mask becomes strict. Forward visits the nearest keys first and stops when no mass is
// left; the mass at every block is stored for the backward, which visits the farthest keys first.
// CHECK:      %[[MASS:[0-9]+]] = tile.buffer {{.*}} residual : <[b, hq, kb, r], f32>
// CHECK:      tile.stage @attention_forward  forward over ["b", "hq"] pairs %
// CHECK:      tile.stream descending
// CHECK-SAME: stop_below
// The scan takes the odds, bounded so that a product of four is finite; no reciprocal per key.
// CHECK:      %[[MOST:.*]] = arith.constant 3.000000e+01 : f32
// CHECK:      arith.minimumf %{{.*}}, %[[MOST]]
// CHECK-NOT:  arith.divf
// CHECK:      tile.scan odds descending
// CHECK:      tile.stage @attention_backward
// CHECK:      tile.stream ascending
// CHECK-SAME: skip(
// CHECK:      tile.load %[[MASS]] :
// CHECK:      tile.scan linear ascending

// ALL-NOT:    stop_below
// ALL-NOT:    skip_below
