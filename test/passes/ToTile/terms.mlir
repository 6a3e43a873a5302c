// RUN: pe-opt %examples/t5.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=DISTANCE
// RUN: pe-opt %examples/fire.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=SEGMENTS
// RUN: pe-opt %examples/fire_gelu.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=CUBICS
// RUN: pe-opt %s --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=GENERAL
// The class of a term decides its lowering.

// A function of i - j: one table, a window in the kernel, then sums along diagonals.
// DISTANCE:   %[[GRADIENT:[0-9]+]] = tile.buffer "d_table"
// DISTANCE:   %[[TABLE:[0-9]+]] = tile.buffer {{.*}} residual : <[hq, t], f32>
// DISTANCE:   tile.stage {{.*}} prepare over ["hq"]
// The table has an entry per distance of the capacity, and the gradient visits those of the call.
// DISTANCE:   tile.foreach over ["max(0, r + capacity - 1 - max(0, c - 1 - q_start + k_start + 0))"]
// DISTANCE:   tile.write {{.*}}, %[[TABLE]][
// DISTANCE:   tile.stage @attention_forward
// DISTANCE:   tile.window %[[TABLE]] :
// DISTANCE:   tile.stage @attention_backward
// DISTANCE:   tile.window_grad %{{.*}}, %[[SUMS:[0-9]+]] :
// DISTANCE:   tile.stage @attention_term0_finish finish
// DISTANCE:   tile.foreach over ["hq", "max(0, r + c - 1 - max(0, c - 1 - q_start + k_start + 0))"]
// DISTANCE:   tile.read %[[SUMS]][
// DISTANCE:   tile.accumulate {{.*}} -> <[32, hq], f64>
// DISTANCE:   tile.stage {{.*}} finish
// DISTANCE:   tile.write {{.*}}, %[[GRADIENT]][

// A ReLU network of a ratio: its pieces are found once per call, at most 33 for one layer of 32.
// SEGMENTS:   %[[MOMENTS:[0-9]+]] = tile.buffer {{.*}} temporary {zero} : <[b, hq, 33, 2], f32>
// SEGMENTS:   tile.buffer {{.*}} residual : <[hq, 33, 2], f32>
// SEGMENTS:   tile.find_segments
// SEGMENTS:   tile.stage @attention_forward
// SEGMENTS:   tile.segments
// SEGMENTS:   tile.stage @attention_backward
// SEGMENTS:   tile.segments_grad
// SEGMENTS:   tile.stage {{.*}} finish
// SEGMENTS:   tile.read %[[MOMENTS]][

// A smooth network: cubics, and the network for each score if there are too many pieces.
// CUBICS:     %[[EACH:[0-9]+]] = tile.buffer {{.*}} temporary {zero} : <[b, hq, hq], f32>
// CUBICS:     %[[MOMENTS:[0-9]+]] = tile.buffer {{.*}} temporary {zero} : <[b, hq, 128, 4], f32>
// CUBICS:     tile.buffer {{.*}} residual : <[hq, 128, 4], f32>
// CUBICS:     tile.find_segments({{.*}}) ["gelu", "identity"] range
// CUBICS:     tile.stage @attention_forward
// CUBICS:     tile.segments
// CUBICS:     tile.map
// CUBICS:     tile.read {{.*}} : <[1], i32>
// CUBICS:     scf.for
// CUBICS:     math.erf
// CUBICS:     tile.stage @attention_backward
// CUBICS:     tile.segments_grad
// CUBICS:     tile.stage {{.*}} finish
// CUBICS:     tile.read %[[MOMENTS]][
// CUBICS:     tile.stage {{.*}} finish
// CUBICS:     tile.read %[[EACH]][

// General: the region per score, reverse mode per score, sums per batch and head.
// GENERAL:    %[[SUMS:[0-9]+]] = tile.buffer {{.*}} temporary {zero} : <[b, hq], f32>
// GENERAL:    tile.stage @attention_forward
// GENERAL:    %[[H:.*]] = tile.index "hq"  : <[], index>
// GENERAL:    %[[I:.*]] = tile.position "r"  : <[r], index>
// GENERAL:    %[[J:.*]] = tile.position "c"  : <[c], index>
// GENERAL:    tile.map(%[[H]], %[[I]], %[[J]])
// GENERAL:    tile.read
// GENERAL:    tile.stage @attention_backward
// GENERAL:    tile.accumulate {{.*}}, %[[SUMS]][
// GENERAL:    tile.stage @attention_term0_finish
// GENERAL:    tile.read %[[SUMS]][
!t = tensor<?x?x?x?xf32>
func.func @attention(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                     %w: tensor<?xf32> {pe.name = "w", pe.init = 1.0}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%w : tensor<?xf32>) {
  ^bb0(%batch: index, %h: index, %i: index, %j: index, %weights: tensor<?xf32>):
    %x = pe.read %weights[%h] : tensor<?xf32>
    %product = arith.muli %i, %j : index
    %n = arith.index_cast %product : index to i64
    %f = arith.sitofp %n : i64 to f32
    %y = arith.mulf %x, %f : f32
    %z = math.sin %y : f32
    pe.yield %z : f32
  }
  %m = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}
