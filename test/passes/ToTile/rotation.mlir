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
