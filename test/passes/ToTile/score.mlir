// RUN: pe-opt %examples/softcap.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s
// RUN: pe-opt %examples/score_fn.mlir --pe-to-tile-pipeline="grad=1 dtype=bf16" | FileCheck %s --check-prefix=GAIN
// RUN: pe-opt %examples/score_fn.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=FACTOR
// A score function takes its argument in natural units; backward recomputes it together with
// its derivative, and nothing is saved.

// CHECK-NOT:   residual : <[b, hq, r, c]
// CHECK:       tile.stage @attention_forward
// CHECK:       arith.constant 1.250000e-01
// CHECK:       %[[S:.*]] = tile.dot
// CHECK-NEXT:  tile.map(%[[S]])
// CHECK:         math.tanh
// CHECK:       tile.stage @attention_backward
// CHECK:       %[[Z:.*]] = tile.dot
// CHECK:       %[[W:.*]]:2 = tile.map(%[[Z]], %{{.*}})
// CHECK-COUNT-1: math.tanh
// CHECK:       %[[DS:.*]] = tile.map(%{{.*}}, %{{.*}}) : (!tile.val<[r, c], f32>, !tile.val<[r, c], f32>)
// CHECK:       tile.map(%[[DS]], %[[W]]#1)

// GAIN:        %[[SUMS:[0-9]+]] = tile.buffer {{.*}} temporary {zero} : <[b, hq], f32>
// GAIN:        tile.stage @attention_backward
// GAIN:        tile.accumulate {{.*}}, %[[SUMS]][
// GAIN:        tile.stage {{.*}} finish
// GAIN:        tile.read %[[SUMS]][

// A factor of the query is multiplied into the queries: the kernels are those of plain attention.
// FACTOR:      %[[DQ:[0-9]+]] = tile.buffer "d_q"
// FACTOR:      %[[QUERIES:[0-9]+]] = tile.buffer {{.*}} residual : <[b, hq, r, d], f32>
// FACTOR:      %[[FACTORS:[0-9]+]] = tile.buffer {{.*}} residual : <[b, hq, r], f32>
// FACTOR:      tile.stage {{.*}} prepare
// FACTOR:        math.log
// FACTOR:        tile.write {{.*}}, %[[FACTORS]][
// FACTOR:      tile.stage {{.*}} prepare
// FACTOR:        tile.read %[[FACTORS]][
// FACTOR:        tile.write {{.*}}, %[[QUERIES]][
// FACTOR:      tile.stage @attention_forward
// FACTOR-NOT:  math.log %
// FACTOR:      tile.load %[[QUERIES]] :
// FACTOR-NOT:  math.log %
// FACTOR:      tile.stage @attention_backward
// FACTOR-NOT:  math.log %
// FACTOR:      tile.stage {{.*}} finish
// FACTOR:        tile.read %[[FACTORS]][
// FACTOR:        tile.write {{.*}}, %[[DQ]][
// FACTOR:      tile.stage {{.*}} finish
// FACTOR:        tile.write {{.*}}, %[[PRODUCTS:[0-9]+]][
// FACTOR:      tile.stage {{.*}} finish
// FACTOR:        tile.read %[[PRODUCTS]][
// FACTOR:        tile.accumulate
