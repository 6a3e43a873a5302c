// RUN: pe-opt %examples/rope.mlir --pe-prepare --pe-expand-masks --pe-to-tile="grad=1 head-dim=32" | FileCheck %s
// Queries and keys are rotated before the kernel and their gradients rotated back after it; the
// kernel reads the rotated buffers.
// CHECK:      %[[DQ:[0-9]+]] = tile.buffer "d_q"
// CHECK:      %[[Q:[0-9]+]] = tile.buffer {{.*}} residual : <[b, hq, r, d], f32>
// CHECK:      %[[K:[0-9]+]] = tile.buffer {{.*}} residual : <[b, hkv, c, d], f32>
// CHECK:      tile.stage {{.*}} prepare
// Sines of at most r positions in a block of 64: a decode step computes one.
// CHECK:      tile.foreach over ["min(r,64)", "16"]
// CHECK:      math.cos
// CHECK:      tile.stage {{.*}} prepare over ["b", "hq"]
// CHECK:      tile.write {{.*}}, %[[Q]][
// CHECK:      tile.stage {{.*}} prepare over ["b", "hkv"]
// CHECK:      tile.write {{.*}}, %[[K]][
// CHECK:      tile.stage @attention_forward
// CHECK:      tile.load %[[Q]] :
// CHECK:      tile.load %[[K]] :
// CHECK:      tile.stage {{.*}} finish over ["b", "hq"]
// CHECK:      arith.negf
// CHECK:      tile.write {{.*}}, %[[DQ]][

// A learned base: the sums over pairs of positions and angles' gradients, then the chain to the
// base. The frequencies depend only on the end of the keys and on the base.
// RUN: pe-opt %examples/rope_per_head.mlir --pe-prepare --pe-expand-masks --pe-to-tile="grad=1 head-dim=32" \
// RUN:   | FileCheck %s --check-prefix=BASE
// BASE:      tile.require "hkv" at_least "hq" of "key heads, as many as query heads because each head has its own base"
// BASE:      tile.stage {{.*}} prepare
// BASE:      tile.size "k_start + c"
// BASE:      tile.stage {{.*}} finish over ["b", "hq"]
// BASE:      %[[SUMS:[0-9]+]] = tile.buffer {{.*}} temporary {zero} : <[hq, 16], f64>
// BASE:      tile.stage {{.*}} finish over ["hq"]
// BASE:      tile.size "1 - r"
// BASE:      tile.accumulate {{.*}}, %[[SUMS]][
// BASE:      tile.stage {{.*}} finish over ["hq"]
// BASE:      tile.size "k_start - q_start - r + 1"
// BASE:      tile.accumulate {{.*}}, %[[SUMS]][
// BASE:      tile.stage {{.*}} finish over []
// BASE:      tile.read %[[SUMS]][
// BASE:      tile.accumulate {{.*}} -> <[hq], f64>

// Given tables: a row for every position, checked before the call runs, and gradients by position.
// RUN: pe-opt %examples/rope_table.mlir --pe-prepare --pe-expand-masks --pe-to-tile="grad=1 head-dim=32" \
// RUN:   | FileCheck %s --check-prefix=TABLE
// TABLE:      tile.extent "cos_positions"
// TABLE:      tile.require "cos_positions" at_least "max(1, max(q_start + r, k_start + c))"
// TABLE-SAME: of "rows of tensors 'cos' and 'sin', one for every position of the call"
// TABLE:      tile.buffer "cos" argument {{.*}}: <[cos_positions, "ceildiv(d,2)"], f32>
// TABLE-NOT:  math.cos
// TABLE:      tile.stage {{.*}} finish over ["cos_positions"]
// TABLE:      tile.accumulate {{.*}} -> <[cos_positions, "ceildiv(d,2)"], f64>
// TABLE:      tile.accumulate {{.*}} -> <[cos_positions, "ceildiv(d,2)"], f64>
