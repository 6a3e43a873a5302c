// Functions of the score, content terms, factors, sinks and embeddings of a dialect to which no pass refers are
// expanded to ops with regions, with their tensors as captures.
// RUN: pe-test-opt %s --split-input-file --pe-expand-functions | FileCheck %s

!t = tensor<?x?x?x?xf32>

// CHECK-LABEL: func.func @score
// CHECK-SAME:    %[[LIMIT:[a-z0-9]*]]: tensor<?xf32>
// CHECK-NOT:     test_encodings
// CHECK:         %[[S:.*]] = pe.score_fn(%[[LIMIT]] : tensor<?xf32>) {
// CHECK-NEXT:    ^bb0(%[[OLD:.*]]: f32, %{{.*}}: index, %[[H:.*]]: index, %{{.*}}: index, %{{.*}}: index,
// CHECK-SAME:         %[[T:.*]]: tensor<?xf32>):
// CHECK-NEXT:      %[[L:.*]] = pe.read %[[T]][%[[H]]]
// CHECK-NEXT:      %[[X:.*]] = arith.divf %[[OLD]], %[[L]]
// CHECK-NEXT:      %[[Y:.*]] = math.tanh %[[X]]
// CHECK-NEXT:      %[[NEW:.*]] = arith.mulf %[[L]], %[[Y]]
// CHECK-NEXT:      pe.yield %[[NEW]]
// CHECK:         pe.attention {{.*}} score(%[[S]])
func.func @score(%q: !t, %k: !t, %v: !t, %limit: tensor<?xf32>) -> !t {
  %s = test_encodings.cap %limit : tensor<?xf32>
  %o = pe.attention %q, %k, %v score(%s) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>

// The shift and the projection are not captures.
// CHECK-LABEL: func.func @content
// CHECK-SAME:    %[[TABLE:[a-z0-9]*]]: tensor<9x?xf32>, %[[U:[a-z0-9]*]]: tensor<?x?xf32>,
// CHECK-SAME:    %[[W:[a-z0-9]*]]: tensor<?x?xf32>
// CHECK:         %[[C:.*]] = pe.content_fn(%[[TABLE]] : tensor<9x?xf32>) shift(%[[U]] : tensor<?x?xf32>)
// CHECK-SAME:      project(%[[W]] : tensor<?x?xf32>) {
// CHECK-NEXT:    ^bb0(%[[B:[a-z0-9]*]]: index, %[[H:[a-z0-9]*]]: index, %[[I:[a-z0-9]*]]: index,
// CHECK-SAME:         %[[J:[a-z0-9]*]]: index, %[[D:.*]]: index, %{{.*}}: index, %[[T:.*]]: tensor<9x?xf32>):
// CHECK:           arith.subi %[[I]], %[[J]]
// CHECK:           pe.read %[[T]][%{{.*}}, %[[D]]]
// CHECK:         pe.attention {{.*}} content(%[[C]])
func.func @content(%q: !t, %k: !t, %v: !t, %table: tensor<9x?xf32>, %u: tensor<?x?xf32>,
                   %w: tensor<?x?xf32>) -> !t {
  %c = test_encodings.near_vectors %table : tensor<9x?xf32> shift(%u : tensor<?x?xf32>)
      project(%w : tensor<?x?xf32>)
  %o = pe.attention %q, %k, %v content(%c) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>

// A sink is expanded, and factors and dropout become one factor.
// CHECK-LABEL: func.func @weights
// CHECK-SAME:    %[[RATE:[a-z0-9]*]]: tensor<?xf32>, %[[RISE:[a-z0-9]*]]: tensor<?x?xf32>,
// CHECK-SAME:    %[[SEED:[a-z0-9]*]]: tensor<i64>
// CHECK-NOT:     test_encodings
// CHECK:         %[[S:.*]] = pe.sink_fn(%[[RATE]], %[[RISE]] : tensor<?xf32>, tensor<?x?xf32>) {
// CHECK-NEXT:    ^bb0(%[[B:.*]]: index, %{{.*}}: index, %[[I:.*]]: index, %{{.*}}: tensor<?xf32>,
// CHECK-SAME:         %[[R:.*]]: tensor<?x?xf32>):
// CHECK:           pe.read %[[R]][%[[B]], %[[I]]]
// CHECK:         %[[F:.*]] = pe.factor_fn(%[[RATE]], %[[SEED]] : tensor<?xf32>, tensor<i64>) {
// CHECK:           %[[X:.*]] = math.exp
// CHECK-NEXT:      %[[D:.*]] = pe.dropout_factor 1.000000e-01, %{{.*}} : tensor<i64>
// CHECK-NEXT:      %[[P:.*]] = arith.mulf %[[X]], %[[D]]
// CHECK-NEXT:      pe.yield %[[P]]
// CHECK-NOT:     pe.factor_fn
// CHECK:         pe.attention {{.*}} sink(%[[S]]) factor(%[[F]]) :
func.func @weights(%q: !t, %k: !t, %v: !t, %rate: tensor<?xf32>, %rise: tensor<?x?xf32>,
                   %seed: tensor<i64>) -> !t {
  %s = test_encodings.rising_sink %rate, %rise : tensor<?xf32>, tensor<?x?xf32>
  %f = test_encodings.fade %rate : tensor<?xf32>
  %o = pe.attention %q, %k, %v sink(%s) factor(%f) dropout(0.1, %seed : tensor<i64>)
      : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>

// A sink tensor becomes a function that reads element h. A factor that another attention uses is kept.
// CHECK-LABEL: func.func @shared
// CHECK:         %[[SHARED:.*]] = pe.factor_fn
// CHECK:         pe.attention {{.*}} factor(%[[SHARED]])
// CHECK:         %[[S:.*]] = pe.sink_fn(
// CHECK-NEXT:    ^bb0(%{{.*}}: index, %[[H:.*]]: index, %{{.*}}: index, %[[T:.*]]: tensor<?xf32>):
// CHECK-NEXT:      %[[L:.*]] = pe.read %[[T]][%[[H]]]
// CHECK-NEXT:      pe.yield %[[L]]
// CHECK:         %[[BOTH:.*]] = pe.factor_fn
// CHECK:         pe.attention {{.*}} sink(%[[S]]) factor(%[[BOTH]])
func.func @shared(%q: !t, %k: !t, %v: !t, %t: tensor<?xf32>) -> (!t, !t) {
  %f = test_encodings.fade %t : tensor<?xf32>
  %g = pe.factor_fn(%t : tensor<?xf32>) expr "t[h]"
  %o = pe.attention %q, %k, %v factor(%f) : (!t, !t, !t) -> !t
  %p = pe.attention %q, %k, %v sink(%t : tensor<?xf32>) factor(%f, %g) : (!t, !t, !t) -> !t
  return %o, %p : !t, !t
}

// -----

// CHECK-LABEL: func.func @embedding
// CHECK:         %[[E:.*]] = pe.embedding_fn(%{{.*}}, %{{.*}} : tensor<?x?xf32>, tensor<?xf32>)
// CHECK-SAME:      attributes {least = {rows = "n"}, width_multiple = 2 : i64} {
// CHECK-NEXT:    ^bb0(%[[P:.*]]: index, %[[D:.*]]: index, %{{.*}}: index, %[[N:.*]]: index,
// CHECK:           arith.subi %[[N]]
// CHECK:           math.cos
// CHECK:         pe.embed %{{.*}}, %[[E]]
func.func @embedding(%x: tensor<?x?x?xf32>, %table: tensor<?x?xf32>, %rate: tensor<?xf32>)
    -> tensor<?x?x?xf32> {
  %e = test_encodings.rows_and_wave %table, %rate : tensor<?x?xf32>, tensor<?xf32>
  %y = pe.embed %x, %e : tensor<?x?x?xf32>
  return %y : tensor<?x?x?xf32>
}
