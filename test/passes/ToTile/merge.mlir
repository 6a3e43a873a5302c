// RUN: pe-opt %examples/merge.mlir --pe-to-tile-pipeline="grad=1 dtype=bf16" | FileCheck %s
// RUN: pe-opt %examples/merge_stick_breaking.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=MASS

// Outputs have the type of activations, logarithms do not; positions have no effect.
// CHECK:      tile.plan @merge attributes {head_dim = 0 : i64, value_dim = 0 : i64}
// CHECK-NOT:  tile.parameter
// CHECK:      tile.buffer "o1" argument {{.*}}: <[b, hq, r, e], bf16>
// CHECK:      tile.buffer "lse1" argument : <[b, hq, r], f32>
// CHECK:      tile.buffer "d_lse1" gradient : <[b, hq, r], f32>
// CHECK:      tile.stage @merge_weights forward over ["b", "hq"]
// CHECK:        math.exp {{.*}} : f64
// CHECK:        math.log {{.*}} : f64
// CHECK:      tile.stage @merge forward over ["b", "hq"]
// CHECK:      tile.stage @merge_d_logs backward
// CHECK:      tile.stage @merge_d_first backward
// CHECK:      tile.stage @merge_d_second backward

// The first part has weight 1.
// MASS-NOT:   first_weights
// MASS:       tile.stage @merge_weights forward
// MASS-NOT:     math.log
// MASS:       tile.stage @merge forward
