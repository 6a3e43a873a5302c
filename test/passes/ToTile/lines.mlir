// RUN: pe-opt %examples/key_bias.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=COLUMN
// RUN: pe-opt %examples/forgetting.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=BOTH
// RUN: pe-opt %s --pe-to-tile-pipeline="grad=1" \
// RUN:   | FileCheck %s --check-prefix=SPLIT --implicit-check-not="temporary : <[b, hq, r], f32>"
// RUN: pe-opt %s --pe-to-tile-pipeline="grad=1 dtype=bf16" | FileCheck %s --check-prefix=NARROW
// RUN: pe-opt %examples/forgetting.mlir --pe-to-tile-pipeline="grad=1 dtype=bf16" \
// RUN:   | FileCheck %s --check-prefix=BOTH --implicit-check-not="temporary : <[b, hq, r], f32>"
// Parts that depend on one position become vectors; their sums are folds of the stream.

// A value that all heads share has no copy per head, and one sum per key head.
// COLUMN:      %[[VECTOR:[0-9]+]] = tile.buffer {{.*}} residual : <[b, c], f32>
// COLUMN:      %[[SUMS:[0-9]+]] = tile.buffer {{.*}} temporary : <[b, hkv, c], f32>
// COLUMN:      tile.stage {{.*}} prepare over ["b"]
// COLUMN:        tile.write {{.*}}, %[[VECTOR]][
// COLUMN:      tile.stage @attention_backward
// COLUMN:      tile.reduce add over r
// COLUMN:      tile.store {{.*}}, %[[SUMS]] : <[c], f32> -> <[b, hkv, c], f32>
// The total of a head's sums, which is 0 except for rounding, is a long sum to three elements.
// COLUMN:      tile.stage {{.*}} finish over ["b", "hkv"]
// COLUMN:      tile.foreach over ["c"]
// COLUMN:      tile.read %[[SUMS]][
// COLUMN-COUNT-3: tile.accumulate
// COLUMN:      tile.stage {{.*}} finish over []
// COLUMN:      tile.foreach over ["b", "hkv"]
// COLUMN:      tile.stage @attention_term0_finish finish
// COLUMN:      tile.foreach over ["b", "c"]

// A part that is read from a tensor is stored in natural units, and combined before scaling.
// BOTH:        tile.buffer "attention_lse"
// BOTH:        %[[VECTOR:[0-9]+]] = tile.buffer {{.*}} residual : <[b, hq, r], f32>
// BOTH-NOT:    residual : <[b, hq, r], f32>
// BOTH:        tile.stage {{.*}} prepare over ["b", "hq"]
// BOTH-NOT:    1.44269
// BOTH:        tile.write {{.*}}, %[[VECTOR]][
// BOTH-NOT:    1.44269
// BOTH:        tile.stage @attention_forward
// BOTH:        %[[ROW:.*]] = tile.load %[[VECTOR]] : <[b, hq, r], f32> -> <[r], f32>
// BOTH:        %[[KEY:.*]] = tile.load {{.*}} <[b, hq, c], f32> -> <[c], f32>
// BOTH:        tile.map(%[[ROW]], %[[KEY]])
// BOTH:          %[[SUM:.*]] = arith.addf
// BOTH:          arith.mulf %[[SUM]],

// A computed part is stored as a sum of two f32.
// SPLIT:       %[[HIGH:[0-9]+]] = tile.buffer {{.*}} residual : <[hq, r], f32>
// SPLIT:       %[[LOW:[0-9]+]] = tile.buffer {{.*}} residual : <[hq, r], f32>
// SPLIT:       tile.stage {{.*}} prepare over ["hq"]
// SPLIT:         arith.truncf {{.*}} : f64 to f32
// SPLIT-DAG:     tile.write {{.*}}, %[[HIGH]][
// SPLIT-DAG:     tile.write {{.*}}, %[[LOW]][

// The output of 16-bit activations is rounded, so rows of dS do not sum to 0. A parameter of both parts uses the
// sums of rows, against which the error cancels; with separate parameters per part (forgetting) it would not cancel.
// NARROW:      %[[ROWS:[0-9]+]] = tile.buffer {{.*}} temporary : <[b, hq, r], f32>
// NARROW:      tile.stage @attention_backward
// NARROW:      tile.reduce add over c
// NARROW:      tile.store {{.*}}, %[[ROWS]] :
// NARROW:      tile.stage {{.*}} finish over ["b", "hq"]
// NARROW:      tile.foreach over ["c"]
// NARROW-COUNT-3: tile.accumulate
// NARROW:      tile.foreach over ["r"]
// NARROW:        tile.read %[[ROWS]][
// NARROW:        arith.negf
// NARROW-COUNT-1: tile.accumulate
!t = tensor<?x?x?x?xf32>
func.func @attention(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                     %a: tensor<?xf32> {pe.name = "a", pe.init = 1.0}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%a : tensor<?xf32>) expr "a[h] * exp(0.001 * j) - a[h] * exp(0.001 * i)"
  %m = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}
