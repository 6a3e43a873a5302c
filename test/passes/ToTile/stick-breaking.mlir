// RUN: pe-opt %examples/stick_breaking.mlir --pe-prepare --pe-expand-masks --pe-to-tile="grad=1" | FileCheck %s
// RUN: pe-opt %examples/stick_breaking.mlir --pe-prepare --pe-expand-masks --pe-to-tile="grad=1 early-exit=0" \
// RUN:   | FileCheck %s --check-prefix=ALL

// RUN: pe-opt %examples/stick_breaking.mlir --pe-prepare --pe-expand-masks --pe-to-tile="grad=1 dtype=bf16" \
// RUN:   | FileCheck %s --check-prefix=NARROW

// A causal mask becomes strict. Forward visits the nearest keys first and stops when no mass is
// left; the mass at every block is stored for the backward, which visits the farthest keys first.
// CHECK:      %[[MASS:[0-9]+]] = tile.buffer {{.*}} residual : <[b, hq, kb, r], f32>
// CHECK:      tile.stage @attention_forward  forward over ["b", "hq"] pairs %
// CHECK:      tile.stream descending
// CHECK-SAME: stop_below
// CHECK:      tile.scan mul descending
// CHECK:      tile.stage @attention_backward
// CHECK:      tile.stream ascending
// CHECK-SAME: skip(
// CHECK:      tile.load %[[MASS]] :
// CHECK:      tile.scan linear ascending

// ALL-NOT:    stop_below
// ALL-NOT:    skip_below

// With 16-bit operands the scan takes the odds, bounded so that a product of four is finite; no reciprocal per key.
// NARROW:      tile.stage @attention_forward
// NARROW:      %[[MOST:.*]] = arith.constant 3.000000e+01 : f32
// NARROW:      arith.minimumf %{{.*}}, %[[MOST]]
// NARROW-NOT:  arith.divf
// NARROW:      tile.scan odds descending
