// RUN: pe-opt %examples/merge.mlir --pe-to-tile-pipeline="grad=1 dtype=bf16" | FileCheck %s
// RUN: pe-opt %examples/merge_stick_breaking.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=MASS

// Outputs have the type of activations, logarithms do not; positions have no effect.
// CHECK:      tile.plan @merge attributes {head_dim = 0 : i64, value_dim = 0 : i64}
// CHECK-NOT:  tile.parameter
// CHECK:      tile.buffer "o1" argument {{.*}}: <[b, hq, r, e], bf16>
// CHECK:      tile.buffer "lse1" argument : <[b, hq, r], f32>
// CHECK:      %[[D_FIRST:[0-9]+]] = tile.buffer "d_o1"
// CHECK:      %[[D_LOG:[0-9]+]] = tile.buffer "d_lse1" gradient : <[b, hq, r], f32>
// CHECK:      %[[D_SECOND:[0-9]+]] = tile.buffer "d_o2"
// CHECK:      tile.stage {{.*}} forward over ["b", "hq"]
// CHECK:        math.exp {{.*}} : f64
// CHECK:        math.log {{.*}} : f64
// CHECK:      tile.stage {{.*}} forward over ["b", "hq"]
// CHECK:        tile.write {{.*}} : bf16 -> <[b, hq, r, e], bf16>
// CHECK:      tile.stage {{.*}} backward
// CHECK:        tile.write {{.*}}, %[[D_LOG]][
// CHECK:      tile.stage {{.*}} backward
// CHECK:        tile.write {{.*}}, %[[D_FIRST]][
// CHECK:      tile.stage {{.*}} backward
// CHECK:        tile.write {{.*}}, %[[D_SECOND]][

// The first part has weight 1, so there are only weights of the second.
// MASS:       tile.buffer {{.*}} residual : <[b, hq, r], f32>
// MASS-NOT:   residual
// MASS:       tile.stage {{.*}} forward
// MASS-NOT:     math.log
// MASS:       tile.stage {{.*}} forward
