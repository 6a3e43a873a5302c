// Region ops are not changed; ops of external encodings are expanded in test/dialect/TestEncodings.
// RUN: pe-opt %s --pe-expand-functions | FileCheck %s
// RUN: pe-opt %s > %t.before
// RUN: pe-opt %s --pe-expand-functions > %t.after
// RUN: diff %t.before %t.after

!t = tensor<?x?x?x?xf32>

// CHECK-LABEL: func.func @regions
// CHECK:         %[[S:.*]] = pe.score_fn(%{{.*}} : tensor<?xf32>) {
// CHECK:         %[[C:.*]] = pe.content_fn(%{{.*}} : tensor<9x?xf32>) {
// CHECK:         pe.attention {{.*}} content(%[[C]]) score(%[[S]])
func.func @regions(%q: !t, %k: !t, %v: !t, %limit: tensor<?xf32>, %table: tensor<9x?xf32>) -> !t {
  %s = pe.score_fn(%limit : tensor<?xf32>) expr "limit[h] * tanh(s / limit[h])"
  %c = pe.content_fn(%table : tensor<9x?xf32>) expr "table[clamp(i - j, 0, 8), d]"
  %o = pe.attention %q, %k, %v content(%c) score(%s) : (!t, !t, !t) -> !t
  return %o : !t
}

// CHECK-LABEL: func.func @embedding
// CHECK:         %[[E:.*]] = pe.embedding_fn(%{{.*}} : tensor<?x?xf32>) attributes {least = {rows = "n"}} {
// CHECK:         pe.embed %{{.*}}, %[[E]]
func.func @embedding(%x: tensor<?x?x?xf32>, %table: tensor<?x?xf32>) -> tensor<?x?x?xf32> {
  %e = pe.embedding_fn(%table : tensor<?x?xf32>) attributes {least = {rows = "n"}}
      expr "table[n - 1 - p, d]"
  %y = pe.embed %x, %e : tensor<?x?x?xf32>
  return %y : tensor<?x?x?xf32>
}
