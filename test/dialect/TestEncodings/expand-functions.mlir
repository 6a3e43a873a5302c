// Functions of the score, content terms and embeddings of a dialect that no pass knows become the
// regions that passes know, with their tensors as captures.
// RUN: pe-test-opt %s --split-input-file --pe-expand-functions | FileCheck %s

!t = tensor<?x?x?x?xf32>

// CHECK-LABEL: func.func @score
// CHECK-SAME:    %[[LIMIT:[a-z0-9]*]]: tensor<?xf32>
// CHECK-NOT:     test_encodings
// CHECK:         %[[S:.*]] = pe.score_fn(%[[LIMIT]] : tensor<?xf32>) {
// CHECK-NEXT:    ^bb0(%[[OLD:.*]]: f32, %{{.*}}: index, %[[H:.*]]: index, %{{.*}}: index, %{{.*}}: index, %[[T:.*]]: tensor<?xf32>):
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

// A shift and a projection are no captures.
// CHECK-LABEL: func.func @content
// CHECK-SAME:    %[[TABLE:[a-z0-9]*]]: tensor<9x?xf32>, %[[U:[a-z0-9]*]]: tensor<?x?xf32>, %[[W:[a-z0-9]*]]: tensor<?x?xf32>
// CHECK:         %[[C:.*]] = pe.content_fn(%[[TABLE]] : tensor<9x?xf32>) shift(%[[U]] : tensor<?x?xf32>) project(%[[W]] : tensor<?x?xf32>) {
// CHECK-NEXT:    ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index, %[[D:.*]]: index, %{{.*}}: index, %[[T:.*]]: tensor<9x?xf32>):
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

// CHECK-LABEL: func.func @embedding
// CHECK:         %[[E:.*]] = pe.embedding_fn(%{{.*}}, %{{.*}} : tensor<?x?xf32>, tensor<?xf32>) attributes {least = {rows = "n"}, width_multiple = 2 : i64} {
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
