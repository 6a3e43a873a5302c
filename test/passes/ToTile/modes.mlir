// RUN: pe-opt %examples/attention_sink.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=SINK
// RUN: pe-opt %examples/dropout.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=DROPOUT
// RUN: pe-opt %examples/attention_sink.mlir --pe-prepare --pe-expand-functions --pe-expand-biases --pe-split-terms \
// RUN:   --pe-differentiate | FileCheck %s --check-prefix=GRAD

// A sink is the start of the statistics and adds one value per row that a finish stage sums; the
// stream does not change.
// SINK:       tile.stage @attention_forward
// SINK:         %[[LOGIT:.*]] = tile.load {{.*}} : <[hq], f32> -> <[], f32>
// SINK:         %[[START:.*]]:2 = tile.map(%[[LOGIT]]) {{.*}} -> (!tile.val<[r], f32>, !tile.val<[r], f32>)
// SINK:         tile.stream ascending carry(%[[START]]#0, %[[START]]#1,
// SINK:       tile.stage @attention_backward
// SINK:         %[[ROW:.*]] = tile.map({{.*}}) : (!tile.val<[], f32>, !tile.val<[r], f32>, !tile.val<[r], f32>)
// SINK-SAME:    -> !tile.val<[r], f32>
// SINK:         tile.stream any
// SINK:         tile.store %[[ROW]], %[[ROWS:[0-9]+]] : <[r], f32> -> <[b, hq, r], f32>
// SINK:       tile.stage {{.*}} finish
// SINK:         tile.read %[[ROWS]][

// Statistics include all keys; the factor is applied to the weights and, backward, to the
// cotangents of the weights. The smallest kept word is ceil(0.1 * 2^32).
// DROPOUT:    tile.stage @attention_forward
// DROPOUT:      tile.reduce add over c %[[P:.*]] :
// DROPOUT:      %[[F:.*]] = tile.random %{{.*}} least 429496730 factor 1.1111{{.*}} : <[], i64> -> <[r, c], f32>
// DROPOUT:      %[[W:.*]] = tile.map(%[[P]], %[[F]])
// DROPOUT:      tile.dot %[[W]], %{{.*}} over c
// DROPOUT:    tile.stage @attention_backward
// DROPOUT-COUNT-1: tile.random
// DROPOUT-NOT:     tile.random

// GRAD:       %[[S:.*]] = pe.sink_fn(
// GRAD:       %[[DQ:.*]], %{{.*}}, %{{.*}}, %[[A:.*]] = pe.attention_grad {{.*}}, !pe.adjoint)
// GRAD:       %[[DS:.*]] = pe.weight_pullback %[[S]], %[[A]] : !pe.sink -> tensor<?xf32>
// GRAD:       return %[[DQ]], %{{.*}}, %[[DS]] :
