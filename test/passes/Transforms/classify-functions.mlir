// RUN: pe-opt %s --split-input-file --pe-classify-functions --verify-roundtrip | FileCheck %s

!t = tensor<?x?x?x?xf32>

// The class of a term depends on the pairs that an attention keeps, so each attention has a copy.
// CHECK-LABEL: func.func @contents
// CHECK:         pe.content_fn({{.*}}) attributes {structure = #pe.content<near [-4, 4], "has 9 different vectors:
// CHECK:         pe.content_fn({{.*}}) attributes {structure = #pe.content<near [0, 2], "has 3 different vectors:
// CHECK:         pe.attention
// CHECK:         pe.attention
func.func @contents(%q: !t, %k: !t, %v: !t, %r: tensor<9x?xf32>) -> (!t, !t) {
  %c = pe.content_fn(%r : tensor<9x?xf32>) expr "r[clamp(i - j, -4, 4) + 4, d]"
  %0 = pe.attention %q, %k, %v content(%c) : (!t, !t, !t) -> !t
  %causal = pe.causal
  %window = pe.sliding_window {left = 3}
  %m = pe.mask_and %causal, %window
  %1 = pe.attention %q, %k, %v value_content(%c) mask(%m) : (!t, !t, !t) -> !t
  return %0, %1 : !t, !t
}

// -----

!t = tensor<?x?x?x?xf32>

// A term of class angles also yields its angle. Stick-breaking attends to earlier keys only.
// CHECK-LABEL: func.func @waves
// CHECK:         pe.content_fn attributes {structure = #pe.content<angles,
// CHECK:           math.cos %[[ANGLE:.*]] : f32
// CHECK:           pe.yield %{{.*}}, %[[ANGLE]] : f32, f32
// CHECK:         pe.content_fn({{.*}}) attributes {structure = #pe.content<panel,
// CHECK:         pe.content_fn({{.*}}) attributes {structure = #pe.content<near [1, 4],
func.func @waves(%q: !t, %k: !t, %v: !t, %e: tensor<400x?xf32>, %r: tensor<9x?xf32>) -> (!t, !t) {
  %c = pe.content_fn
      expr "let w = 1 / (1 + d // 2) in select(d % 2 == 0, sin((i - j) * w), cos((i - j) * w))"
  %p = pe.content_fn(%e : tensor<400x?xf32>) expr "e[clamp(i - j, -199, 199) + 200, d]"
  %0 = pe.attention %q, %k, %v content(%c, %p) : (!t, !t, !t) -> !t
  %n = pe.content_fn(%r : tensor<9x?xf32>) expr "r[clamp(i - j, -4, 4) + 4, d]"
  %m = pe.causal
  %1 = pe.attention %q, %k, %v content(%n) mask(%m)
      {normalizer = #pe.normalizer<stick_breaking>} : (!t, !t, !t) -> !t
  return %0, %1 : !t, !t
}

// -----

!t = tensor<?x?x?x?xf32>

// CHECK-LABEL: func.func @scores
// CHECK:         pe.score_fn(%{{.*}} : tensor<?xf32>) attributes {per_query} {
// CHECK:         pe.score_fn attributes {per_query} {
// CHECK:         pe.score_fn attributes {per_query} {
func.func @scores(%q: !t, %k: !t, %v: !t, %g: tensor<?xf32>) -> (!t, !t, !t) {
  %a = pe.score_fn(%g : tensor<?xf32>) expr "s * log(1 + i) * g[h]"
  %b = pe.score_fn expr "s * max(1, log(i + 1) / log(512))"
  %c = pe.score_fn expr "s * select(i < 512, 1, log(i + 1) / 6)"
  %0 = pe.attention %q, %k, %v score(%a) : (!t, !t, !t) -> !t
  %1 = pe.attention %q, %k, %v score(%b) : (!t, !t, !t) -> !t
  %2 = pe.attention %q, %k, %v score(%c) : (!t, !t, !t) -> !t
  return %0, %1, %2 : !t, !t, !t
}

// -----

!t = tensor<?x?x?x?xf32>

// Functions of the pair, not linear in s, and infinite at some position. The attribute that was
// written by hand is removed.
// CHECK-LABEL: func.func @not_scores
// CHECK-NOT:     per_query
// CHECK:         return
func.func @not_scores(%q: !t, %k: !t, %v: !t) -> (!t, !t, !t, !t, !t) {
  %a = pe.score_fn expr "s * exp(j - i)"
  %b = pe.score_fn attributes {per_query} expr "30 * tanh(s / 30)"
  %c = pe.score_fn expr "s / i"
  %d = pe.score_fn expr "s * exp(i)"
  %e = pe.score_fn expr "let x = 0.5 * i in s * (x * x * x * x * x)"
  %0 = pe.attention %q, %k, %v score(%a) : (!t, !t, !t) -> !t
  %1 = pe.attention %q, %k, %v score(%b) : (!t, !t, !t) -> !t
  %2 = pe.attention %q, %k, %v score(%c) : (!t, !t, !t) -> !t
  %3 = pe.attention %q, %k, %v score(%d) : (!t, !t, !t) -> !t
  %4 = pe.attention %q, %k, %v score(%e) : (!t, !t, !t) -> !t
  return %0, %1, %2, %3, %4 : !t, !t, !t, !t, !t
}

// -----

!t = tensor<?x?x?x?xf32>
!g = tensor<?x?x?xf32>

// A factor of the query, a product with values of the pair, and one with random draws.
// CHECK-LABEL: func.func @factors
// CHECK-SAME:    %[[GATE:arg3]]: tensor<?x?x?xf32>, %[[RATE:arg4]]: tensor<?xf32>, %[[SEED:arg5]]: tensor<i64>
// CHECK:         %[[WHOLE:.*]] = pe.factor_fn(%[[GATE]] : tensor<?x?x?xf32>) attributes {per_query} {
// CHECK:         pe.attention {{.*}} factor(%[[WHOLE]])
// CHECK:         %[[PAIR:.*]] = pe.factor_fn(%[[RATE]] : tensor<?xf32>) {
// CHECK-NOT:       arith.divf
// CHECK:           pe.yield
// CHECK:         %[[QUERY:.*]] = pe.factor_fn(%[[GATE]] : tensor<?x?x?xf32>) attributes {per_query} {
// CHECK:           arith.divf
// CHECK:           arith.divf
// CHECK:           pe.yield
// CHECK:         pe.attention {{.*}} factor(%[[PAIR]], %[[QUERY]])
// CHECK:         %[[DRAW:.*]] = pe.factor_fn(%[[SEED]] : tensor<i64>) {
// CHECK:           pe.dropout_factor
// CHECK:         %[[REST:.*]] = pe.factor_fn(%[[GATE]] : tensor<?x?x?xf32>) attributes {per_query} {
// CHECK-NOT:       pe.dropout_factor
// CHECK:         pe.attention {{.*}} factor(%[[DRAW]], %[[REST]])
func.func @factors(%q: !t, %k: !t, %v: !t, %g: !g, %r: tensor<?xf32>, %seed: tensor<i64>) -> (!t, !t, !t) {
  %a = pe.factor_fn(%g : !g) expr "sigmoid(g[b, h, i])"
  %0 = pe.attention %q, %k, %v factor(%a) : (!t, !t, !t) -> !t
  %b = pe.factor_fn(%g, %r : !g, tensor<?xf32>)
      expr "sigmoid(g[b, h, i]) * exp(-r[h] * abs(i - j)) / (1 + i)"
  %1 = pe.attention %q, %k, %v factor(%b) : (!t, !t, !t) -> !t
  %c = pe.factor_fn(%seed, %g : tensor<i64>, !g) {
  ^bb0(%at: index, %h: index, %i: index, %j: index, %s: tensor<i64>, %gate: !g):
    %draw = pe.dropout_factor 0.5, %s : tensor<i64>
    %value = pe.read %gate[%at, %h, %i] : !g
    %product = arith.mulf %draw, %value : f32
    pe.yield %product : f32
  }
  %2 = pe.attention %q, %k, %v factor(%c) : (!t, !t, !t) -> !t
  return %0, %1, %2 : !t, !t, !t
}

// -----

!t = tensor<?x?x?x?xf32>

// Constants stay with the values of the pair. A draw alone is not a value of the query. The weight
// of a remainder has no factor, so a factor cannot multiply the output.
// CHECK-LABEL: func.func @not_factors
// CHECK-NOT:     per_query
// CHECK:         return
func.func @not_factors(%q: !t, %k: !t, %v: !t, %seed: tensor<i64>) -> (!t, !t, !t) {
  %a = pe.factor_fn expr "0.5 * exp(-abs(i - j))"
  %0 = pe.attention %q, %k, %v factor(%a) : (!t, !t, !t) -> !t
  %b = pe.factor_fn(%seed : tensor<i64>) {
  ^bb0(%at: index, %h: index, %i: index, %j: index, %s: tensor<i64>):
    %draw = pe.dropout_factor 0.5, %s : tensor<i64>
    pe.yield %draw : f32
  }
  %1 = pe.attention %q, %k, %v factor(%b) : (!t, !t, !t) -> !t
  %c = pe.factor_fn expr "1 / (1 + i)"
  %m = pe.causal
  %2 = pe.attention %q, %k, %v factor(%c) mask(%m)
      {normalizer = #pe.normalizer<stick_breaking>, remainder = #pe.remainder<value>}
      : (!t, !t, !t) -> !t
  return %0, %1, %2 : !t, !t, !t
}

// -----

!t = tensor<?x?x?x?xf32>

// An extent gives a term constant tails: 0 from there on.
// CHECK-LABEL: func.func @extent
// CHECK:         pe.content_fn({{.*}}) extent(5) attributes {structure = #pe.content<near [0, 5], "has 6
// CHECK:         pe.content_fn({{.*}}) times({{.*}}) extent(1000) attributes {structure = #pe.content<panel,
func.func @extent(%q: !t, %k: !t, %v: !t, %p: tensor<8x1000xf32>, %r: tensor<?x?x?x8xf32>,
                  %s: tensor<?x?x?x8xf32>) -> !t {
  %f = pe.factor_fn expr "1 + h"
  %a = pe.content_fn(%p : tensor<8x1000xf32>) extent(5) expr "p[d, i - j]"
  %b = pe.content_fn(%p : tensor<8x1000xf32>) times(%f) extent(1000) expr "p[d, i - j]"
  %m = pe.causal
  %o = pe.attention %q, %k, %v content(%a, %b) query(%r, %s : tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>) mask(%m)
      : (!t, !t, !t) -> !t
  return %o : !t
}
