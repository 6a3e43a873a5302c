// RUN: pe-opt %examples/nope.mlir --pe-prepare --pe-expand-masks --pe-to-tile="head-dim=32 value-dim=48" | FileCheck %s
// RUN: pe-opt %examples/nope.mlir --pe-prepare --pe-expand-masks --pe-to-tile="grad=1" \
// RUN:   | FileCheck %s --check-prefix=GRAD

// Forward: the queries are scaled (1 / sqrt(32) in units of log2), and a causal stream carries the
// running maximum, sum and output; no residual without gradients.
// CHECK:      tile.plan @attention attributes {head_dim = 32 : i64
// CHECK-SAME: mask_low = 0 : i64, value_dim = 48 : i64
// CHECK:      tile.buffer "q"  argument {strided} : <[b, hq, r, d], f32>
// CHECK:      tile.buffer "k"  argument {strided} : <[b, hkv, c, d], f32>
// CHECK-NOT:  residual
// CHECK:      %[[PAIRS:.*]] = tile.pairs band(right = 1)
// CHECK:      tile.stage @attention_forward  forward over ["b", "hq"] pairs %[[PAIRS]]
// CHECK:      arith.constant 0.255034
// CHECK:      tile.stream ascending carry(
// CHECK-SAME: !tile.val<[r], f32>, !tile.val<[r], f32>, !tile.val<[r, e], f32>
// CHECK-NOT:  tile.stage

// Backward: one stage over key heads; every gradient is a fold, and nothing is carried.
// GRAD-DAG:   tile.buffer "d_q"  gradient
// GRAD-DAG:   tile.buffer "d_o"  cotangent
// GRAD-DAG:   tile.buffer "attention_lse"  residual
// GRAD:       tile.stage @attention_backward  backward over ["b", "hkv"]
// GRAD:       tile.stream any {
// GRAD:       } : !tile.val<[r, d], f32>, !tile.val<[c, d], f32>, !tile.val<[c, e], f32>
