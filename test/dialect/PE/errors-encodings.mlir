// One case per constraint of coordinates, biases, rotations and masks (docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

func.func @progressive_length() {
  // expected-error @below {{expected initial_length to be a finite number above 0, found 0.000000e+00 (progressive-C1)}}
  %t = pe.progressive {initial_length = 0.0}
  return
}

// -----

func.func @progressive_epsilon() {
  // expected-error @below {{expected epsilon to be a finite number of at least 0, found -1.000000e+00 (progressive-C2)}}
  %t = pe.progressive {epsilon = -1.0}
  return
}

// -----

func.func @no_buckets() {
  // expected-error @below {{expected at least 2 buckets, found -1 (bucket-C1)}}
  %x = pe.bucket {buckets = -1}
  return
}

// -----

func.func @too_few_buckets_per_side() {
  // expected-error @below {{expected at least 4 buckets, found 2 (bucket-C1)}}
  %x = pe.bucket {buckets = 2, bidirectional = true}
  return
}

// -----

func.func @odd_buckets() {
  // expected-error @below {{expected an even number of buckets, half of them for each side, found 33 (bucket-C2)}}
  %x = pe.bucket {buckets = 33, bidirectional = true}
  return
}

// -----

func.func @short_max_distance() {
  // expected-error @below {{expected max_distance above the 16 exact buckets, found 16 (bucket-C3)}}
  %x = pe.bucket {buckets = 32, max_distance = 16}
  return
}

// -----

func.func @too_many_buckets() {
  // expected-error @below {{expected at most 4096 buckets, found 100000 (bucket-C4)}}
  %x = pe.bucket {buckets = 100000, max_distance = 1000000}
  return
}

// -----

func.func @far_max_distance() {
  // expected-error @below {{expected max_distance below 2^31, found 4294967296 (bucket-C5)}}
  %x = pe.bucket {max_distance = 4294967296}
  return
}

// -----

func.func @slope_and_rule(%s: tensor<?xf32>) {
  %x = pe.distance
  // expected-error @below {{expected either a slope or a rule, found both (linear-C1)}}
  %b = pe.linear %x slope(%s : tensor<?xf32>) {rule = #pe.slope_rule<geometric>}
  return
}

// -----

func.func @no_slope() {
  %x = pe.distance
  // expected-error @below {{expected either a slope or a rule, found neither (linear-C1)}}
  %b = pe.linear %x
  return
}

// -----

func.func @linear_factor(%s: tensor<?xf32>) {
  %x = pe.distance
  // expected-error @below {{expected a factor that is finite in f32, found 1.000000e+39 (linear-C2)}}
  %b = pe.linear %x slope(%s : tensor<?xf32>) {factor = 1.0e39}
  return
}

// -----

func.func @power_factor(%s: tensor<?xf32>) {
  %x = pe.distance
  // expected-error @below {{expected a factor that is finite in f32, found INF (power-C1)}}
  %b = pe.power %x exponent(%s : tensor<?xf32>) slope(%s : tensor<?xf32>) {factor = 0x7FF0000000000000 : f64}
  return
}

// -----

func.func @scale_factor(%s: tensor<?xf32>) {
  %x = pe.distance
  %b = pe.linear %x slope(%s : tensor<?xf32>)
  // expected-error @below {{expected a factor that is finite in f32, found nan (scale-C1)}}
  %c = pe.scale %b {factor = 0x7FF8000000000000 : f64}
  return
}

// -----

func.func @parameter_rank(%s: tensor<?x?xf32>) {
  %x = pe.distance
  // expected-error @below {{must be 0-d or 1-d (one number per head) f32 tensor, but got 'tensor<?x?xf32>'}}
  %b = pe.linear %x slope(%s : tensor<?x?xf32>)
  return
}

// -----

func.func @table_rank(%table: tensor<32xf32>) {
  %x = pe.bucket
  // expected-error @below {{must be 2D tensor of 32-bit float values, but got 'tensor<32xf32>'}}
  %b = pe.table %x, %table : tensor<32xf32>
  return
}

// -----

func.func @empty_table(%table: tensor<0x?xf32>) {
  %x = pe.bucket
  // expected-error @below {{expected at least one row, found 'tensor<0x?xf32>' (table-C1)}}
  %b = pe.table %x, %table : tensor<0x?xf32>
  return
}

// -----

func.func @unpaired_layers(%w: tensor<32xf32>) {
  %x = pe.distance
  // expected-error @below {{expected pairs of a weight and a bias, found 1 tensors (mlp-C1)}}
  %b = pe.mlp %x layers(%w : tensor<32xf32>)
  return
}

// -----

func.func @weight_rank(%w: tensor<32xf32>, %w2: tensor<32xf32>) {
  %x = pe.distance
  // expected-error @below {{expected the weight of layer 2 to have rank 2, found 'tensor<32xf32>' (mlp-C2)}}
  %b = pe.mlp %x layers(%w, %w, %w2, %w2 : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  return
}

// -----

func.func @weight_columns(%w: tensor<32xf32>, %w2: tensor<?x16xf32>, %b2: tensor<?xf32>) {
  %x = pe.distance
  // expected-error @below {{expected the weight of layer 2 to have 32 columns, one per unit of the layer before it, found 'tensor<?x16xf32>' (mlp-C3)}}
  %b = pe.mlp %x layers(%w, %w, %w2, %b2 : tensor<32xf32>, tensor<32xf32>, tensor<?x16xf32>, tensor<?xf32>)
  return
}

// -----

func.func @bias_rank(%w: tensor<32xf32>, %b1: tensor<32x1xf32>) {
  %x = pe.distance
  // expected-error @below {{expected the bias of layer 1 to have rank 1, found 'tensor<32x1xf32>' (mlp-C4)}}
  %b = pe.mlp %x layers(%w, %b1 : tensor<32xf32>, tensor<32x1xf32>)
  return
}

// -----

func.func @bias_size(%w: tensor<32xf32>, %b1: tensor<16xf32>) {
  %x = pe.distance
  // expected-error @below {{expected the bias of layer 1 to have 32 elements like the rows of 'tensor<32xf32>', found 'tensor<16xf32>' (mlp-C5)}}
  %b = pe.mlp %x layers(%w, %b1 : tensor<32xf32>, tensor<16xf32>)
  return
}

// -----

func.func @tolerance(%w: tensor<32xf32>, %b1: tensor<32xf32>) {
  %x = pe.distance
  // expected-error @below {{expected tolerance to be a finite number above 0, found 0.000000e+00 (mlp-C6)}}
  %b = pe.mlp %x layers(%w, %b1 : tensor<32xf32>, tensor<32xf32>) {tolerance = 0.0 : f64}
  return
}

// -----

func.func @no_terms() {
  %x = pe.relative
  // expected-error @below {{expected terms between 1 and 4096, found 0 (cosine_sum-C1)}}
  %b = pe.cosine_sum %x {terms = 0}
  return
}

// -----

func.func @cosine_base() {
  %x = pe.relative
  // expected-error @below {{expected base to be a finite number above 0, found -1.000000e+00 (cosine_sum-C2)}}
  %b = pe.cosine_sum %x {base = -1.0}
  return
}

// -----

func.func @scalar_cosine_sum(%x: f32) -> f32 {
  // expected-error @below {{expected terms between 1 and 4096, found 4097 (cosine_sum-C1)}}
  %y = pe.cosine_sum_eval %x {terms = 4097} : f32
  return %y : f32
}

// -----

func.func @sum_of_nothing_known(%x: f32) {
  // expected-error @below {{expected either a count or an extent, found neither (sum-C1)}}
  %y = pe.sum(%x : f32) {
  ^bb0(%k: index, %a: f32):
    pe.yield %a : f32
  }
  return
}

// -----

func.func @sum_count(%x: f32) {
  // expected-error @below {{expected a count between 0 and 4096, found 4097 (sum-C1)}}
  %y = pe.sum(%x : f32) attributes {count = 4097 : i64} {
  ^bb0(%k: index, %a: f32):
    pe.yield %a : f32
  }
  return
}

// -----

func.func @sum_extent(%x: f32, %t: tensor<?xf32>) {
  // expected-error @below {{expected extent to be the index of a tensor input and one of its axes, found [0, 0] (sum-C2)}}
  %y = pe.sum(%x, %t : f32, tensor<?xf32>) attributes {extent = array<i64: 0, 0>} {
  ^bb0(%k: index, %a: f32, %u: tensor<?xf32>):
    pe.yield %a : f32
  }
  return
}

// -----

func.func @sum_arguments(%x: f32) {
  // expected-error @below {{expected the region to have arguments of the types 'index', 'f32', found 'index' (sum-C3)}}
  %y = pe.sum(%x : f32) attributes {count = 2 : i64} {
  ^bb0(%k: index):
    %a = arith.constant 1.0 : f32
    pe.yield %a : f32
  }
  return
}

// -----

func.func @sum_of_integers(%x: f32) {
  // expected-error @below {{expected the region to yield one f32 (sum-C4)}}
  %y = pe.sum(%x : f32) attributes {count = 2 : i64} {
  ^bb0(%k: index, %a: f32):
    pe.yield %k : index
  }
  return
}

// -----

func.func @sum_of_networks(%x: f32, %h: index, %w: tensor<?xf32>) {
  %y = pe.sum(%x, %h, %w : f32, index, tensor<?xf32>) attributes {count = 2 : i64} {
  ^bb0(%k: index, %a: f32, %g: index, %u: tensor<?xf32>):
    // expected-error @below {{expected no network inside the sum (sum-C4)}}
    %z = pe.mlp_eval %a, %g layers(%u, %u : tensor<?xf32>, tensor<?xf32>) : f32
    pe.yield %z : f32
  }
  return
}

// -----

func.func @bias_as_coordinate() {
  %x = pe.causal // expected-note {{prior use here}}
  // expected-error @below {{use of value '%x' expects different type than prior uses: '!pe.coordinate' vs '!pe.mask'}}
  %b = pe.linear %x {rule = #pe.slope_rule<geometric>}
  return
}

// -----

func.func @odd_rotary_dims() {
  // expected-error @below {{expected rotary_dims to be a positive even number, found 15; dims are rotated in pairs (rotary-C1)}}
  %r = pe.rotary {rotary_dims = 15}
  return
}

// -----

func.func @rotary_base() {
  // expected-error @below {{expected base to be a finite number above 1, found 1.000000e+00 (rotary-C2)}}
  %r = pe.rotary {base = 1.0}
  return
}

// -----

func.func @two_bases(%b: tensor<?xf32>) {
  // expected-error @below {{expected one base, found a tensor and the attribute base (rotary-C5)}}
  %r = pe.rotary %b : tensor<?xf32> {base = 10.0}
  return
}

// -----

func.func @unknown_scaling() {
  // expected-error @below {{expected linear, ntk, dynamic_ntk, yarn or llama3, found cubic (rope_scaling-C1)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<cubic, factor = 4.0>}
  return
}

// -----

func.func @unknown_number_of_scaling() {
  // expected-error @below {{expected factor, original_length, beta_fast, beta_slow of yarn, each at most once, found low (rope_scaling-C1)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<yarn, factor = 4.0, low = 1.0>}
  return
}

// -----

func.func @scaling_factor() {
  // expected-error @below {{expected a factor above 0, found -4.000000e+00 (rope_scaling-C2)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<linear, factor = -4.0>}
  return
}

// -----

func.func @no_scaling_factor() {
  // expected-error @below {{expected a factor above 0, found 0.000000e+00 (rope_scaling-C2)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<ntk>}
  return
}

// -----

func.func @original_length() {
  // expected-error @below {{expected original_length of yarn to be an integer from 1 to 2^30, found 0 (rope_scaling-C3)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<yarn, factor = 4.0, original_length = 0>}
  return
}

// -----

func.func @no_original_length() {
  // expected-error @below {{expected original_length of dynamic_ntk to be an integer from 1 to 2^30, found none (rope_scaling-C3)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<dynamic_ntk, factor = 4.0>}
  return
}

// -----

func.func @bounds_of_scaling() {
  // expected-error @below {{expected low above 0 and high above it, found 4.000000e+00 and 4.000000e+00 (rope_scaling-C4)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<llama3, factor = 8.0, original_length = 8192, low = 4.0>}
  return
}

// -----

func.func @odd_dims_of_table(%t: tensor<?x?xf32>) {
  // expected-error @below {{expected rotary_dims to be a positive even number, found 7; dims are rotated in pairs (rotation_table-C1)}}
  %r = pe.rotation_table %t, %t {rotary_dims = 7} : tensor<?x?xf32>, tensor<?x?xf32>
  return
}

// -----

func.func @tables_differ(%c: tensor<?x8xf32>, %s: tensor<?x16xf32>) {
  // expected-error @below {{expected cosines and sines of one shape, a column per pair of dims, found 'tensor<?x8xf32>' and 'tensor<?x16xf32>' (rotation_table-C2)}}
  %r = pe.rotation_table %c, %s : tensor<?x8xf32>, tensor<?x16xf32>
  return
}

// -----

func.func @no_window() {
  // expected-error @below {{expected at least one of left and right, found neither; a window without bounds masks nothing (sliding_window-C1)}}
  %m = pe.sliding_window
  return
}

// -----

func.func @empty_window() {
  // expected-error @below {{expected left to be at least 1, found 0; 1 keeps the query's own position (sliding_window-C2)}}
  %m = pe.sliding_window {left = 0}
  return
}

// -----

func.func @negative_window() {
  // expected-error @below {{expected left to be at least 1, found -3; 1 keeps the query's own position (sliding_window-C2)}}
  %m = pe.sliding_window {left = -3}
  return
}

// -----

func.func @negative_window_to_the_right() {
  // expected-error @below {{expected right to be at least 1, found -1; 1 keeps the query's own position (sliding_window-C2)}}
  %m = pe.sliding_window {left = 4, right = -1}
  return
}

// -----

func.func @prefix(%lengths: tensor<?xf32>) {
  // expected-error @below {{expected captures of integers, which have no gradients, found 'tensor<?xf32>'; a condition on real numbers is a bias, select(condition, 0, -inf) in pe.bias_fn (mask_fn-C7)}}
  %m = pe.mask_fn(%lengths : tensor<?xf32>) expr "j < lengths[b]"
  return
}

// -----

// A mask is a condition and a bias a number. Each error names the form of the other.
func.func @mask_of_numbers() {
  // expected-error @below {{expected a condition, found a number; a mask is only the condition, as in j <= i; select(condition, 0, -inf) is a bias, for pe.bias_fn}}
  %m = pe.mask_fn expr "select(j <= i, 0, -inf)"
  return
}

// -----

func.func @bias_of_a_condition() {
  // expected-error @below {{expected a number, found a boolean; a bias is select(condition, 0, -inf); the condition itself is a mask, for pe.mask_fn}}
  %b = pe.bias_fn expr "j <= i"
  return
}

// -----

func.func @factor_of_a_condition() {
  // expected-error @below {{expected a number, found a boolean; use select(condition, a, b)}}
  %f = pe.factor_fn expr "j <= i"
  return
}

// -----

func.func @mask_region_of_numbers() {
  %m = pe.mask_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.constant 0.0 : f32
    // expected-error @below {{expected one i1 value, found 'f32'; a mask is only the condition, as in j <= i; select(condition, 0, -inf) is a bias, for pe.bias_fn (mask_fn-C3)}}
    pe.yield %x : f32
  }
  return
}

// -----

func.func @bias_region_of_a_condition() {
  %0 = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.cmpi sle, %j, %i : index
    // expected-error @below {{expected one f32 value, found 'i1'; a bias is select(condition, 0, -inf); the condition itself is a mask, for pe.mask_fn (bias_fn-C3)}}
    pe.yield %x : i1
  }
  return
}

// -----

// A misspelt attribute is an error; it does not silently leave the default in effect.
func.func @misspelt_attribute(%s: tensor<?xf32>) {
  %x = pe.distance
  // expected-error @below {{expected no attributes except factor, rule, found 'factr'; did you mean 'factor'? (attribute-C1)}}
  %b = pe.linear %x slope(%s : tensor<?xf32>) {factr = -1.0}
  return
}

// -----

func.func @attribute_of_none() {
  // expected-error @below {{expected no attributes, found 'base'}}
  %x = pe.distance {base = 2.0}
  return
}

// -----

!t = tensor<1x2x8x16xf32>
func.func @not_built(%q: !t, %k: !t, %v: !t) -> !t {
  // expected-error @below {{expected no attributes except attend_current, direction, dropout, normalizer, remainder, scale, found 'pe.softcap'; write score(%s) with %s = pe.score_fn (attribute-C1)}}
  %o = pe.attention %q, %k, %v {pe.softcap = 30.0} : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x8x16xf32>
func.func @not_built_without_prefix(%q: !t, %k: !t, %v: !t) -> !t {
  // expected-error @below {{found 'softcap'; write score(%s) with %s = pe.score_fn (attribute-C1)}}
  %o = pe.attention %q, %k, %v {softcap = 30.0} : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

// An attribute of the op with the prefix of pe is an error.
func.func @prefixed() {
  %x = pe.distance
  // expected-error @below {{found 'pe.factor'; write 'factor' (attribute-C1)}}
  %b = pe.linear %x {factor = -1.0, pe.factor = 1.0, rule = #pe.slope_rule<geometric>}
  return
}

// -----

func.func @misspelt_and_prefixed() {
  // expected-error @below {{expected no attributes except left, right, found 'pe.rihgt'; did you mean 'right'? (attribute-C1)}}
  %m = pe.sliding_window {left = 4, pe.rihgt = 1}
  return
}

// -----

func.func @another_dialects_attribute() {
  %m = pe.sliding_window {left = 4, test.note = 1}
  return
}

// -----

// expected-error @below {{'func.func' op expected attributes of pe only on its operations, arguments and results, found 'pe.softcap' (attribute-C2)}}
func.func @on_a_function() attributes {pe.softcap = 30.0} {
  return
}
