// One case per constraint of pe.rotary and pe.rotation_table, alone and in pe.attention (docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

func.func @odd_rotary_dims() {
  // expected-error @below {{rotary_dims to be a positive even number, found 15; dims are rotated in pairs (rotary-C1)}}
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
  // expected-error-re @below {{expected linear, ntk, {{.*}}longrope or proportional, found cubic (rope_scaling-C1)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<cubic, factor = 4.0>}
  return
}

// -----

func.func @unknown_number_of_scaling() {
  // CHECK: expected factor, original_length, beta_fast, beta_slow of yarn, each at most once,
  // CHECK-SAME: {{^}} found low (rope_scaling-C1)
  // expected-error @below {{beta_fast, beta_slow of yarn, each at most once, found low (rope_scaling-C1)}}
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
  // expected-error @below {{original_length of yarn to be an integer from 1 to 2^30, found 0 (rope_scaling-C3)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<yarn, factor = 4.0, original_length = 0>}
  return
}

// -----

func.func @no_original_length() {
  // expected-error-re @below {{original_length of dynamic_ntk to be{{.*}}to 2^30, found none (rope_scaling-C3)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<dynamic_ntk, factor = 4.0>}
  return
}

// -----

func.func @bounds_of_scaling() {
  // expected-error @below {{low above 0 and high above it, found 4.000000e+00 and 4.000000e+00 (rope_scaling-C4)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<llama3, factor = 8.0, original_length = 8192, low = 4.0>}
  return
}

// -----

func.func @odd_dims_of_table(%t: tensor<?x?xf32>) {
  // expected-error @below {{to be a positive even number, found 7; dims are rotated in pairs (rotation_table-C1)}}
  %r = pe.rotation_table %t, %t {rotary_dims = 7} : tensor<?x?xf32>, tensor<?x?xf32>
  return
}

// -----

func.func @tables_differ(%c: tensor<?x8xf32>, %s: tensor<?x16xf32>) {
  // CHECK: expected cosines and sines of one shape, a column per pair of dims,
  // CHECK-SAME: {{^}} found 'tensor<?x8xf32>' and 'tensor<?x16xf32>' (rotation_table-C2)
  // expected-error-re @below {{cosines and sines of one shape,{{.*}}and 'tensor<?x16xf32>' (rotation_table-C2)}}
  %r = pe.rotation_table %c, %s : tensor<?x8xf32>, tensor<?x16xf32>
  return
}

// -----

func.func @odd_head_dim(%q: tensor<?x?x?x63xf32>) {
  %r = pe.rotary
  // CHECK: expected an even head dim to rotate in pairs, found 63;
  // CHECK-SAME: {{^}} set rotary_dims to an even number below it (rotary-C3)
  // expected-error-re @below {{expected an even head dim to rotate in pairs, found 63;{{.*}}(rotary-C3)}}
  %o = pe.attention %q, %q, %q rotate(%r)
      : (tensor<?x?x?x63xf32>, tensor<?x?x?x63xf32>, tensor<?x?x?x63xf32>) -> tensor<?x?x?x63xf32>
  return
}

// -----

func.func @too_many_rotary_dims(%q: tensor<?x?x?x32xf32>) {
  %r = pe.rotary {rotary_dims = 64}
  // expected-error @below {{expected rotary_dims of at most the head dim 32, found 64 (rotary-C4)}}
  %o = pe.attention %q, %q, %q rotate(%r)
      : (tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>) -> tensor<?x?x?x32xf32>
  return
}

// -----

func.func @two_dims_stretched(%q: tensor<?x?x?x32xf32>) {
  %r = pe.rotary {rotary_dims = 2, scaling = #pe.rope_scaling<ntk, factor = 4.0>}
  // expected-error @below {{expected at least 4 rotated dims for scaling by ntk, found 2 (rotary-C6)}}
  %o = pe.attention %q, %q, %q rotate(%r)
      : (tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>) -> tensor<?x?x?x32xf32>
  return
}

// -----

func.func @odd_head_dim_of_table(%q: tensor<?x?x?x63xf32>, %t: tensor<?x?xf32>) {
  %r = pe.rotation_table %t, %t : tensor<?x?xf32>, tensor<?x?xf32>
  // expected-error-re @below {{expected an even head dim to rotate in pairs, found 63;{{.*}}(rotation_table-C3)}}
  %o = pe.attention %q, %q, %q rotate(%r)
      : (tensor<?x?x?x63xf32>, tensor<?x?x?x63xf32>, tensor<?x?x?x63xf32>) -> tensor<?x?x?x63xf32>
  return
}

// -----

func.func @too_many_dims_of_table(%q: tensor<?x?x?x32xf32>, %t: tensor<?x?xf32>) {
  %r = pe.rotation_table %t, %t {rotary_dims = 64} : tensor<?x?xf32>, tensor<?x?xf32>
  // expected-error @below {{expected rotary_dims of at most the head dim 32, found 64 (rotation_table-C4)}}
  %o = pe.attention %q, %q, %q rotate(%r)
      : (tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>) -> tensor<?x?x?x32xf32>
  return
}

// -----

func.func @columns_of_table(%q: tensor<?x?x?x32xf32>, %t: tensor<?x8xf32>) {
  %r = pe.rotation_table %t, %t : tensor<?x8xf32>, tensor<?x8xf32>
  // expected-error @below {{expected a column for each of the 16 pairs of dims, found 8 (rotation_table-C5)}}
  %o = pe.attention %q, %q, %q rotate(%r)
      : (tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>) -> tensor<?x?x?x32xf32>
  return
}
