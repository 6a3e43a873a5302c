// RUN: pe-opt %examples/sigmoid.mlir --pe-to-tile-pipeline="grad=true" | FileCheck %s --check-prefix=SIGMOID
// RUN: pe-opt %examples/softpick.mlir --pe-to-tile-pipeline="grad=true" | FileCheck %s --check-prefix=SOFTPICK

// Sigmoid: a row has no statistics and no residual, and the output is the only carry.
// SIGMOID-NOT:   residual : <[b, hq
// SIGMOID:       tile.stage @attention_forward  forward over ["b", "hq"] pairs %
// SIGMOID:       tile.stream ascending carry(
// SIGMOID-SAME:  : !tile.val<[r, e], f32>) {
// SIGMOID-NOT:   tile.reduce
// SIGMOID:       tile.mask {{.*}} fill -1.000000e+30
// SIGMOID:       math.exp2
// SIGMOID:       arith.divf
// SIGMOID:       tile.stage @attention_backward
// SIGMOID:       tile.stream  any {
// SIGMOID-NOT:   tile.scan
// SIGMOID:       tile.yield

// Softpick: masked scores are 0, whose weight and share of the sum are 0. The maximum starts at 0, the
// residual is the logarithm of the sum, and the quotient is exact.
// SOFTPICK:      %[[LOG:[0-9]+]] = tile.buffer {{.*}}_log_sum"  residual : <[b, hq, r], f32>
// SOFTPICK:      tile.stage @attention_forward
// SOFTPICK:      tile.constant 0.000000e+00 : <[r], f32>
// SOFTPICK:      tile.stream ascending carry(
// SOFTPICK:      tile.mask {{.*}} fill 0.000000e+00
// SOFTPICK:      tile.reduce  max over c
// SOFTPICK:      math.absf
// SOFTPICK:      tile.reduce  add over c
// SOFTPICK:      arith.divf %{{[^ ]+}}, %{{[^ ]+}} : f32
// SOFTPICK:      tile.store %{{.*}}, %[[LOG]]
// SOFTPICK:      tile.stage @attention_backward
// SOFTPICK:      tile.load %[[LOG]]
// SOFTPICK:      tile.mask {{.*}} fill 0.000000e+00
