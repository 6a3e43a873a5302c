// Every op of the dialect round-trips, in both syntaxes.
// RUN: pe-opt %s --verify-roundtrip | FileCheck %s
// RUN: pe-opt %s --mlir-print-op-generic | pe-opt | FileCheck %s

// CHECK-LABEL: func @coordinates
func.func @coordinates(%c: tensor<f32>, %p: tensor<?xf32>) {
  // CHECK: pe.distance{{$}}
  %0 = pe.distance
  // CHECK: pe.relative{{$}}
  %1 = pe.relative
  // CHECK: pe.query_position{{$}}
  %2 = pe.query_position
  // CHECK: pe.key_position{{$}}
  %3 = pe.key_position
  // CHECK: pe.log_distance c(%{{.*}} : tensor<?xf32>)
  %4 = pe.log_distance c(%p : tensor<?xf32>)
  // Defaults are not printed.
  // CHECK: pe.progressive c(%{{.*}} : tensor<f32>) threshold(%{{.*}} : tensor<f32>){{$}}
  %5 = pe.progressive c(%c : tensor<f32>) threshold(%c : tensor<f32>) {initial_length = 512.0}
  // CHECK: pe.progressive threshold(%{{.*}} : tensor<f32>) {initial_length = 6.400000e+01 : f64}
  %6 = pe.progressive threshold(%c : tensor<f32>) {initial_length = 64.0}
  // CHECK: pe.progressive{{$}}
  %7 = pe.progressive
  // CHECK: pe.bucket {bidirectional = true, buckets = 64 : i64}
  %8 = pe.bucket {buckets = 64, max_distance = 128, bidirectional = true}
  // CHECK: pe.clamped_log threshold(%{{.*}} : tensor<?xf32>)
  %9 = pe.clamped_log threshold(%p : tensor<?xf32>)
  return
}

// CHECK-LABEL: func @biases
func.func @biases(%p: tensor<?xf32>, %table: tensor<32x?xf32>, %w1: tensor<8xf32>,
                  %w2: tensor<?x8xf32>) {
  %x = pe.distance
  // CHECK: pe.linear %{{.*}} slope(%{{.*}} : tensor<?xf32>) intercept(%{{.*}} : tensor<?xf32>)
  %0 = pe.linear %x slope(%p : tensor<?xf32>) intercept(%p : tensor<?xf32>)
  // CHECK: pe.linear %{{.*}} {factor = -1.000000e+00 : f64, rule = #pe.slope_rule<interleaved>}
  %1 = pe.linear %x {factor = -1.0, rule = #pe.slope_rule<interleaved>}
  // CHECK: pe.table %{{.*}}, %{{.*}} : tensor<32x?xf32>
  %2 = pe.table %x, %table : tensor<32x?xf32>
  // CHECK: pe.power %{{.*}} exponent(%{{.*}} : tensor<?xf32>) slope(%{{.*}} : tensor<?xf32>)
  %3 = pe.power %x exponent(%p : tensor<?xf32>) slope(%p : tensor<?xf32>)
  // CHECK: pe.mlp %{{.*}} layers(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
  // CHECK-SAME: tensor<8xf32>, tensor<8xf32>, tensor<?x8xf32>, tensor<?xf32>)
  // CHECK-SAME: {activation = #pe.activation<gelu>, final_activation = #pe.activation<tanh>}
  %4 = pe.mlp %x layers(%w1, %w1, %w2, %p : tensor<8xf32>, tensor<8xf32>, tensor<?x8xf32>,
                        tensor<?xf32>)
         {activation = #pe.activation<gelu>, final_activation = #pe.activation<tanh>}
  // CHECK: pe.cosine_sum %{{.*}} amplitude(%{{.*}} : tensor<?xf32>) {terms = 8 : i64}
  %5 = pe.cosine_sum %x amplitude(%p : tensor<?xf32>) {terms = 8}
  // CHECK: %[[SUM:.*]] = pe.add %{{.*}}, %{{.*}}
  %6 = pe.add %0, %1
  // CHECK: pe.scale %[[SUM]] {factor = 5.000000e-01 : f64}
  %7 = pe.scale %6 {factor = 0.5}
  return
}

// CHECK-LABEL: func @regions
func.func @regions(%p: tensor<?xf32>) {
  // CHECK:      pe.bias_fn(%{{.*}} : tensor<?xf32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: index, %[[H:.*]]: index, %{{.*}}: index, %{{.*}}: index, %[[P:.*]]: tensor<?xf32>):
  // CHECK-NEXT:   %[[X:.*]] = pe.read %[[P]][%[[H]]] : tensor<?xf32>
  // CHECK-NEXT:   pe.global_head %[[H]]
  // CHECK-NEXT:   pe.heads_total
  // CHECK-NEXT:   %[[Y:.*]] = pe.mlp_eval %[[X]], %[[H]] layers(%[[P]], %[[P]] : tensor<?xf32>, tensor<?xf32>) : f32
  // CHECK-NEXT:   %[[Z:.*]] = pe.cosine_sum_eval %[[Y]] {terms = 8 : i64} : f32
  // CHECK-NEXT:   pe.yield %[[Z]] : f32
  // CHECK-NEXT: }
  %0 = pe.bias_fn(%p : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %q: tensor<?xf32>):
    %x = pe.read %q[%h] : tensor<?xf32>
    %g = pe.global_head %h
    %n = pe.heads_total
    %y = pe.mlp_eval %x, %h layers(%q, %q : tensor<?xf32>, tensor<?xf32>) : f32
    %z = pe.cosine_sum_eval %y {terms = 8} : f32
    pe.yield %z : f32
  }
  // CHECK: pe.bias_fn {
  %1 = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.constant 1.0 : f32
    pe.yield %x : f32
  }
  return
}

// CHECK-LABEL: func @attention
func.func @attention(%q: tensor<?x8x?x64xbf16>, %k: tensor<?x2x?x64xbf16>,
                     %v: tensor<?x2x?x32xbf16>, %lengths: tensor<?xi32>) -> tensor<?x8x?x32xbf16> {
  %x = pe.relative
  %b = pe.linear %x {rule = #pe.slope_rule<geometric>}
  // CHECK: pe.rotary {base = 5.000000e+05 : f64, interleaved = true, rotary_dims = 32 : i64}
  %r = pe.rotary {base = 500000.0, interleaved = true, rotary_dims = 32}
  // CHECK: pe.rotary {scaling = #pe.rope_scaling<yarn, factor = 4.000000e+00, original_length = 2048>}
  %yarn = pe.rotary {scaling = #pe.rope_scaling<yarn, original_length = 2048, factor = 4, beta_fast = 32.0>}
  // CHECK: pe.rotary {scaling = #pe.rope_scaling<llama3, factor = 8.000000e+00, original_length = 8192,
  // CHECK-SAME: high = 1.000000e+01, low = 5.000000e-01>}
  %llama = pe.rotary {scaling = #pe.rope_scaling<llama3, factor = 8.0, low = 0.5, high = 10, original_length = 8192>}
  // CHECK: pe.rotary {rotary_dims = 4 : i64, scaling = #pe.rope_scaling<longrope, factor = 3.200000e+01,
  // CHECK-SAME: original_length = 4096, short_factor = [1.000000e+00, 1.100000e+00],
  // CHECK-SAME: long_factor = [1.500000e+00, 2.400000e+01], attention_factor = 1.250000e+00>}
  %longrope = pe.rotary {rotary_dims = 4, scaling = #pe.rope_scaling<longrope, factor = 32, attention_factor = 1.25,
      long_factor = [1.5, 24], short_factor = [1.0, 1.1], original_length = 4096>}
  // CHECK: #pe.rope_scaling<proportional, factor = 1.000000e+00, partial_rotary_factor = 2.500000e-01>
  %part = pe.rotary {scaling = #pe.rope_scaling<proportional, factor = 1.0, partial_rotary_factor = 0.25>}
  // CHECK: pe.rotary {rotary_dims = 16 : i64, trailing = true}
  %last = pe.rotary {rotary_dims = 16, trailing = true}
  // CHECK: pe.causal{{$}}
  %m0 = pe.causal
  // CHECK: pe.strict_causal{{$}}
  %m1 = pe.strict_causal
  // CHECK: pe.mask_fn(%{{.*}} : tensor<?xi32>) {
  // CHECK:   arith.cmpi slt
  // CHECK:   pe.yield %{{.*}} : i1
  %prefix = pe.mask_fn(%lengths : tensor<?xi32>) expr "j < lengths[b]"
  // CHECK: pe.sliding_window {left = 128 : i64, right = 1 : i64}
  %m2 = pe.sliding_window {left = 128, right = 1}
  // CHECK: pe.mask_or
  %m3 = pe.mask_or %m0, %m1
  // CHECK: %[[MASK:.*]] = pe.mask_and
  %m = pe.mask_and %m3, %m2
  // CHECK: pe.attention %{{.*}}, %{{.*}}, %{{.*}} bias(%[[B:.*]], %[[B]]) rotate(%{{.*}}) mask(%[[MASK]])
  // CHECK-SAME: {normalizer = #pe.normalizer<stick_breaking>, scale = 1.250000e-01 : f64}
  // CHECK-SAME: : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x32xbf16>)
  // CHECK-SAME: -> tensor<?x8x?x32xbf16>, tensor<?x8x?xf32>
  %o, %lse = pe.attention %q, %k, %v bias(%b, %b) rotate(%r) mask(%m)
      {normalizer = #pe.normalizer<stick_breaking>, scale = 0.125}
      : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x32xbf16>)
      -> tensor<?x8x?x32xbf16>, tensor<?x8x?xf32>
  // CHECK: pe.attention {{.*}} rotate(%{{[^)]*}}) rotate_values(%{{[^)]*}}) mask(%{{[^)]*}}) : (
  %o4 = pe.attention %q, %k, %v rotate(%r) rotate_values(%r) mask(%m0)
      : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x32xbf16>)
      -> tensor<?x8x?x32xbf16>
  // CHECK: pe.attention {{.*}} mask(%{{[^)]*}})
  // CHECK-SAME: {attend_current, normalizer = #pe.normalizer<stick_breaking>, remainder = #pe.remainder<value>} : (
  %o1 = pe.attention %q, %k, %v mask(%m0)
      {normalizer = #pe.normalizer<stick_breaking>, attend_current, remainder = #pe.remainder<value>}
      : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x32xbf16>)
      -> tensor<?x8x?x32xbf16>
  // CHECK: pe.attention {{.*}} {direction = #pe.direction<both>, normalizer = #pe.normalizer<stick_breaking>} : (
  %o3 = pe.attention %q, %k, %v
      {normalizer = #pe.normalizer<stick_breaking>, direction = #pe.direction<both>, remainder = #pe.remainder<drop>}
      : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x32xbf16>)
      -> tensor<?x8x?x32xbf16>
  // CHECK: pe.attention %{{.*}}, %{{.*}}, %{{.*}} : (
  %o2 = pe.attention %q, %k, %v
      : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x32xbf16>)
      -> tensor<?x8x?x32xbf16>
  return %o : tensor<?x8x?x32xbf16>
}

// CHECK-LABEL: func @rotations
func.func @rotations(%base: tensor<?xf32>, %factor: tensor<32xf32>, %t: tensor<?x?xf32>, %u: tensor<?x?x?xf32>,
                     %qp: tensor<3x?x?xi32>, %kp: tensor<3x?x?xi32>) {
  // CHECK: pe.rotation_fn(%{{.*}} : tensor<?xf32>) {
  // CHECK-NEXT: ^bb0(%[[H:.*]]: index, %[[P:.*]]: index, %[[N:.*]]: index, %[[T:.*]]: tensor<?xf32>):
  // CHECK-NEXT:   %[[B:.*]] = pe.read %[[T]][%[[H]]] : tensor<?xf32>
  // The whole formula is computed in float64.
  // CHECK-NEXT:   arith.extf %[[B]] : f32 to f64
  // CHECK:        arith.divf %{{.*}}, %{{.*}} : f64
  // CHECK:        math.powf %{{.*}}, %{{.*}} : f64
  // CHECK-NEXT:   pe.yield %{{.*}} : f64
  %a = pe.rotation_fn(%base : tensor<?xf32>) expr "base[h] ^ (-p / n)"
  // CHECK: pe.rotation_fn attributes {interleaved = true, magnitude = 1.190000e+00 : f64, rotary_dims = 64 : i64} {
  // CHECK: arith.constant 1.000000e-01 : f64
  %b = pe.rotation_fn attributes {interleaved = true, magnitude = 1.19, rotary_dims = 64} expr "0.1 ^ p"
  // CHECK: pe.rotation_fn(%{{.*}} : tensor<32xf32>) {
  // CHECK:   pe.yield %{{.*}} : f32
  %c = pe.rotation_fn(%factor : tensor<32xf32>) {
  ^bb0(%h: index, %p: index, %n: index, %f: tensor<32xf32>):
    %x = pe.read %f[%p] : tensor<32xf32>
    pe.yield %x : f32
  }
  // The result of a sum is f32.
  // CHECK: %[[S:.*]] = pe.sum(
  // CHECK:   arith.truncf %{{.*}} : f64 to f32
  // CHECK: arith.extf %[[S]] : f32 to f64
  %d = pe.rotation_fn(%factor : tensor<32xf32>) expr "sum(t < 32, factor[t] * p)"
  // CHECK: pe.rotary positions(%{{.*}}, %{{.*}} : tensor<3x?x?xi32>, tensor<3x?x?xi32>)
  // CHECK-SAME: {alternating = true, sections = [24, 20, 20], sections_of = 64 : i64}
  %m = pe.rotary positions(%qp, %kp : tensor<3x?x?xi32>, tensor<3x?x?xi32>)
      {sections = [24, 20, 20], sections_of = 64, alternating = true}
  // CHECK: pe.rotation_table %{{.*}}, %{{.*}} : tensor<?x?xf32>, tensor<?x?xf32>
  %e = pe.rotation_table %t, %t : tensor<?x?xf32>, tensor<?x?xf32>
  // CHECK: pe.rotation_table %{{.*}}, %{{.*}} {rotary_dims = 8 : i64} : tensor<?x?x?xf32>, tensor<?x?x?xf32>
  %f = pe.rotation_table %u, %u {rotary_dims = 8} : tensor<?x?x?xf32>, tensor<?x?x?xf32>
  return
}

// CHECK-LABEL: func @merge
func.func @merge(%o: tensor<?x8x?x64xbf16>, %l: tensor<?x8x?xf32>, %s: tensor<?xf32>) {
  // CHECK: pe.merge %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} sink(%{{.*}} : tensor<?xf32>)
  // CHECK-SAME: : (tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>, tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>)
  // CHECK-SAME: -> tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>
  %m, %n = pe.merge %o, %l, %o, %l sink(%s : tensor<?xf32>)
      : (tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>, tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>)
      -> tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>
  // CHECK: pe.merge_grad %{{.*}}, %{{.*}} lse(%{{.*}} : tensor<?x8x?xf32>) :
  %d:5 = pe.merge_grad %m, %o lse(%l : tensor<?x8x?xf32>) : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>)
      -> (tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>, tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>, tensor<?xf32>)
  // CHECK: pe.merge {{.*}} {normalizer = #pe.normalizer<stick_breaking>} : (
  %x, %y = pe.merge %o, %l, %o, %l {normalizer = #pe.normalizer<stick_breaking>}
      : (tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>, tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>)
      -> tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>
  return
}

// CHECK-LABEL: func @embeddings
func.func @embeddings(%x: tensor<?x?x?xf32>, %e: !pe.embedding, %seed: tensor<i64>, %seeds: tensor<?xi64>) {
  // CHECK: pe.embed %{{.*}}, %{{.*}} : tensor<?x?x?xf32>
  %a = pe.embed %x, %e : tensor<?x?x?xf32>
  // CHECK: pe.embed %{{.*}}, %{{.*}} dropout(1.000000e-01, %{{.*}} : tensor<i64>) : tensor<?x?x?xf32>
  %b = pe.embed %x, %e dropout(0.1, %seed : tensor<i64>) : tensor<?x?x?xf32>
  // CHECK: pe.embed_grad %{{.*}} dropout(1.000000e-01, %{{.*}} : tensor<?xi64>) : tensor<?x?x?xf32>
  %c = pe.embed_grad %b dropout(0.1, %seeds : tensor<?xi64>) : tensor<?x?x?xf32>
  return
}

// CHECK-LABEL: func @contents
func.func @contents(%q: tensor<?x8x?x64xf32>, %r: tensor<33x64xf32>, %u: tensor<8x64xf32>, %w: tensor<64x64xf32>)
    -> tensor<?x8x?x64xf32> {
  // CHECK: %[[P:.*]] = pe.query_shift %{{.*}} : tensor<8x64xf32>
  %p = pe.query_shift %u : tensor<8x64xf32>
  // CHECK: %[[A:.*]] = pe.content_fn(%{{.*}} : tensor<33x64xf32>) {
  %a = pe.content_fn(%r : tensor<33x64xf32>) expr "r[clamp(i - j, -16, 16) + 16, d]"
  // CHECK: %[[B:.*]] = pe.content_fn shift(%{{.*}} : tensor<8x64xf32>) project(%{{.*}} : tensor<64x64xf32>) {
  %b = pe.content_fn shift(%u : tensor<8x64xf32>) project(%w : tensor<64x64xf32>) expr "sin((i - j) / dim)"
  // CHECK: pe.attention %{{.*}} prologue(%[[P]]) content(%[[A]], %[[B]]) value_content(%[[A]]) : (
  %o = pe.attention %q, %q, %q prologue(%p) content(%a, %b) value_content(%a)
      : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// CHECK-LABEL: func @argument_attributes
// CHECK-SAME: pe.init = "uniform(-1, 2.5)"
func.func @argument_attributes(
    %a: tensor<f32> {pe.name = "a", pe.init = "uniform(-1, 2.5)", pe.min = 0.01, pe.decay = false,
                     pe.monitor = {L = "abs(a)"}},
    %b: tensor<f32> {pe.init = 1}, %c: tensor<f32> {pe.init = "linear"},
    %d: tensor<f32> {pe.init = "linear(32)"}, %e: tensor<f32> {pe.init = "slopes(geometric)"},
    %f: tensor<f32> {pe.init = "xavier(0.1)"}, %g: tensor<f32> {pe.init = "normal(0.02)"}) {
  return
}
