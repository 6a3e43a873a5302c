// Content terms with their own queries, factors and extents round-trip, in both syntaxes.
// RUN: pe-opt %s --verify-roundtrip | FileCheck %s
// RUN: pe-opt %s --mlir-print-op-generic | pe-opt | FileCheck %s

// CHECK-LABEL: func @own_queries
func.func @own_queries(%q: tensor<?x8x?x64xf32>, %r: tensor<?x8x?x16xf32>, %s: tensor<?x8x?x24xf32>,
                       %p: tensor<16x64xf32>) -> tensor<?x8x?x64xf32> {
  // CHECK: %[[F:.*]] = pe.factor_fn
  %f = pe.factor_fn expr "1 + log(1 + max(0, i))"
  // CHECK: %[[A:.*]] = pe.content_fn(%{{.*}} : tensor<16x64xf32>) times(%[[F]]) extent(64) {
  %a = pe.content_fn(%p : tensor<16x64xf32>) times(%f) extent(64) expr "p[d, i - j]"
  // CHECK: %[[B:.*]] = pe.content_fn {
  %b = pe.content_fn expr "exp(-abs(i - j) / (1 + d))"
  // CHECK: content(%[[A]], %[[B]]) query(%{{.*}}, %{{.*}} : tensor<?x8x?x16xf32>, tensor<?x8x?x24xf32>)
  // CHECK-SAME: {scale_by_depth} : (
  %o = pe.attention %q, %q, %q content(%a, %b) query(%r, %s : tensor<?x8x?x16xf32>, tensor<?x8x?x24xf32>)
      {scale_by_depth} : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}
