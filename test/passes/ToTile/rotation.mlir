// RUN: pe-opt %examples/rope.mlir --pe-prepare --pe-to-tile="grad=1 head-dim=32" | FileCheck %s
// Queries and keys are rotated before the kernel and their gradients rotated back after it; the
// kernel reads the rotated buffers.
// CHECK:      %[[Q:.*]] = tile.buffer "attention_queries"  residual : <[b, hq, r, d], f32>
// CHECK:      tile.stage @attention_query_rotation_angles  prepare
// CHECK:      math.cos
// CHECK:      tile.stage @attention_rotate_queries  prepare over ["b", "hq"]
// CHECK:      tile.stage @attention_rotate_keys  prepare over ["b", "hkv"]
// CHECK:      tile.stage @attention_forward
// CHECK:      tile.load %[[Q]]
// CHECK:      tile.stage @attention_rotate_back_queries  finish
// CHECK:      arith.negf

// A learned base: the sums over pairs of positions and angles' gradients, then the chain to the
// base. The frequencies depend only on the end of the keys and on the base.
// RUN: pe-opt %examples/rope_per_head.mlir --pe-prepare --pe-to-tile="grad=1 head-dim=32" \
// RUN:   | FileCheck %s --check-prefix=BASE
// BASE:      tile.require "hkv" at_least "hq" of "key heads, as many as query heads because each head has its own base"
// BASE:      tile.stage @attention_query_rotation_angles
// BASE:      tile.size "k_start + c"
// BASE:      tile.stage @attention_rotate_back_queries finish
// BASE:      tile.stage @attention_turned_queries finish over ["hq"]
// BASE:      tile.size "1 - r"
// BASE:      tile.stage @attention_turned_keys finish over ["hq"]
// BASE:      tile.size "k_start - q_start - r + 1"
// BASE:      tile.stage @attention_rotation_finish finish

// Given tables: a row for every position, checked before the call runs, and gradients by position.
// RUN: pe-opt %examples/rope_table.mlir --pe-prepare --pe-to-tile="grad=1 head-dim=32" \
// RUN:   | FileCheck %s --check-prefix=TABLE
// TABLE:      tile.extent "cos_positions"
// TABLE:      tile.require "cos_positions" at_least "max(1, max(q_start + r, k_start + c))"
// TABLE-SAME: of "rows of tensors 'cos' and 'sin', one for every position of the call"
// TABLE:      tile.buffer "cos" argument {{.*}}: <[cos_positions, "ceildiv(d,2)"], f32>
// TABLE-NOT:  math.cos
// TABLE:      tile.stage @attention_turned_queries finish over ["cos_positions"]
