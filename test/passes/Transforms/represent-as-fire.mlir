// RUN: pe-opt %s --pe-represent-as-fire="length=100 heads=4" --split-input-file | FileCheck %s
!t = tensor<?x?x?x?xf32>

// Sums and multiples are kept; a bias that is used twice is one network. Unread parameters are
// removed, and existing names are not reused.
// CHECK-LABEL: @compose
// CHECK-SAME:    %[[Q:.*]]: tensor<?x?x?x?xf32> {pe.name = "q"}, %[[W1:[a-z0-9]+]]: tensor<2xf32> {pe.name = "w1"},
// CHECK-SAME:    %[[TABLE:[a-z0-9]+]]: tensor<8x?xf32>
// CHECK-SAME:    "w1_1"
// CHECK-NOT:     pe.distance
// CHECK:         %[[T:.*]] = pe.progressive threshold(%{{.*}} : tensor<f32>) {epsilon = 0.000000e+00 : f64,
// CHECK-SAME:    initial_length = 1.000000e+02 : f64}
// CHECK:         %[[A:.*]] = pe.mlp %[[T]] layers(%{{.*}}, %{{.*}} : tensor<?xf32>, tensor<?xf32>)
// CHECK-SAME:    {activation = #pe.activation<identity>}
// CHECK:         %[[HALF:.*]] = pe.scale %[[A]]
// CHECK:         %[[SUM:.*]] = pe.add %[[A]], %[[HALF]]
// CHECK:         bias(%[[SUM]], %[[A]])
func.func @compose(%q: !t {pe.name = "q"}, %w1: tensor<2xf32> {pe.name = "w1"},
                   %table: tensor<8x?xf32> {pe.name = "table"},
                   %slopes: tensor<?xf32> {pe.name = "slopes"}) -> (!t {pe.name = "o"}) {
  %d = pe.distance
  %a = pe.linear %d slope(%slopes : tensor<?xf32>)
  %half = pe.scale %a {factor = 0.5}
  %sum = pe.add %a, %half
  %mask = pe.causal
  %o = pe.attention %q, %q, %q bias(%sum, %a) mask(%mask) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----
!t = tensor<?x?x?x?xf32>
// One value for all heads: one row.
// CHECK-LABEL: @shared
// CHECK-SAME:    tensor<f32> {pe.name = "c"}
// CHECK:         pe.progressive c(%{{.*}} : tensor<f32>) threshold
// CHECK:         pe.mlp %{{.*}} layers(%{{.*}} : tensor<1xf32>, tensor<1xf32>)
func.func @shared(%q: !t {pe.name = "q"}, %c: tensor<f32> {pe.name = "c"}, %s: tensor<f32> {pe.name = "s"})
    -> (!t {pe.name = "o"}) {
  %d = pe.log_distance c(%c : tensor<f32>)
  %a = pe.linear %d slope(%s : tensor<f32>)
  %o = pe.attention %q, %q, %q bias(%a) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----
!t = tensor<?x?x?x?xf32>
// Two units per step and per cosine.
// CHECK-LABEL: @hidden
// CHECK:         layers({{.*}} : tensor<14xf32>, tensor<14xf32>, tensor<?x14xf32>, tensor<?xf32>)
// CHECK-SAME:    {activation = #pe.activation<step>}
// CHECK:         layers({{.*}} : tensor<6xf32>, tensor<6xf32>, tensor<1x6xf32>, tensor<1xf32>)
// CHECK-SAME:    {activation = #pe.activation<cos>}
func.func @hidden(%q: !t {pe.name = "q"}, %table: tensor<8x?xf32> {pe.name = "table"}) -> (!t {pe.name = "o"}) {
  %x = pe.bucket {buckets = 8, max_distance = 20}
  %a = pe.table %x, %table : tensor<8x?xf32>
  %r = pe.relative
  %b = pe.cosine_sum %r {terms = 3}
  %mask = pe.causal
  %o = pe.attention %q, %q, %q bias(%a, %b) mask(%mask) : (!t, !t, !t) -> !t
  return %o : !t
}
