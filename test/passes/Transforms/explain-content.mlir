// RUN: pe-opt %s -o /dev/null --split-input-file --pe-structure-pipeline --pe-explain-structure | FileCheck %s
!t = tensor<?x?x?x64xf32>

// CHECK:      attention at {{.*}}: softmax, keys with 0 <= i - j
// CHECK-NEXT:   content rel[{{.*}}, d]
// CHECK-NEXT:     at {{.*}}, parameters rel
// CHECK-NEXT:     class: near, because it has 17 different vectors: it is constant at distances below 0 and above 16
// CHECK-NEXT:     forward: the products of a query with these vectors, once per query, and one addition per score;
// CHECK-SAME:     backward: one sum per query and vector
// CHECK-NEXT:   content {{.*}}sin(
// CHECK-NEXT:     at {{.*}}, parameters v_bias
// CHECK-NEXT:     class: angles, because it consists of sines and cosines of i - j times a frequency that
// CHECK-SAME:     each pair of elements shares
// CHECK:        content {{.*}}
// CHECK:          class: near, because it has 6 different vectors: it is constant at distances below 0 and above 5
// CHECK:        content {{.*}}
// CHECK:          class: panel, because it has a different vector at every distance
// CHECK-NEXT:     forward: one more contraction over the depth of the queries, with the vectors of the distances
// CHECK-SAME:     that a block covers; backward: two more contractions, for the queries and for the vectors
// CHECK-NEXT:   value content rel[{{.*}}, d]
// CHECK-NEXT:     at {{.*}}, parameters rel
// CHECK-NEXT:     class: near, because it has 17 different vectors
// CHECK-NEXT:     forward: a sum of weights per query and vector, and one product with each vector per query; backward:
func.func @attention(%q: !t {pe.name = "q"}, %rel: tensor<33x?xf32> {pe.name = "rel", pe.axes = ["rows", "depth"]},
                     %v: tensor<?x?xf32> {pe.name = "v_bias", pe.axes = ["head", "depth"]}) -> (!t {pe.name = "o"}) {
  %table = pe.content_fn(%rel : tensor<33x?xf32>) expr "rel[clamp(i - j, -16, 16) + 16, d]"
  %waves = pe.content_fn shift(%v : tensor<?x?xf32>)
      expr "let w = 1 / (1 + d // 2) in select(d % 2 == 0, sin((i - j) * w), cos((i - j) * w))"
  %real = pe.content_fn expr "min(i - j, 5) * d"
  %panel = pe.content_fn expr "exp(-(i - j)) * d"
  %mask = pe.causal
  %o = pe.attention %q, %q, %q content(%table, %waves, %real, %panel) value_content(%table) mask(%mask)
      : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x64xf32>

// CHECK:      content p[d, i - j]
// CHECK-NEXT:   at {{.*}}, parameters p, gain
// CHECK-NEXT:   queries: those of 'r', not scaled
// CHECK-NEXT:   times 1 + gain[h] * log(1 + i)
// CHECK-NEXT:   extent: 0 from a distance of 512 on; blocks beyond it are skipped
// CHECK-NEXT:   class: panel, because it has a different vector at every distance
func.func @attention(%q: !t {pe.name = "q"}, %r: tensor<?x?x?x16xf32> {pe.name = "r"},
                     %p: tensor<16x512xf32> {pe.name = "p"}, %gain: tensor<?xf32> {pe.name = "gain"})
    -> (!t {pe.name = "o"}) {
  %f = pe.factor_fn(%gain : tensor<?xf32>) expr "1 + gain[h] * log(1 + i)"
  %c = pe.content_fn(%p : tensor<16x512xf32>) times(%f) extent(512) expr "p[d, i - j]"
  %mask = pe.causal
  %o = pe.attention %q, %q, %q content(%c) query(%r : tensor<?x?x?x16xf32>) mask(%mask) : (!t, !t, !t) -> !t
  return %o : !t
}
