// One case per constraint of pe.rotation_fn (docs/spec.md), and errors in formulas of frequencies.
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

func.func @too_few_arguments(%t: tensor<?xf32>) {
  // expected-error @below {{expected 4 region arguments (h, p, n and one per capture), found 3 (rotation_fn-C1)}}
  %r = "pe.rotation_fn"(%t) ({
  ^bb0(%h: index, %p: index, %n: index):
    %x = arith.constant 1.0 : f32
    pe.yield %x : f32
  }) : (tensor<?xf32>) -> !pe.rotation
  return
}

// -----

func.func @pair_as_real() {
  // expected-error @below {{expected region argument 1 to have type 'index', found 'f32' (rotation_fn-C2)}}
  %r = pe.rotation_fn {
  ^bb0(%h: index, %p: f32, %n: index):
    pe.yield %p : f32
  }
  return
}

// -----

func.func @whole_frequency() {
  %r = pe.rotation_fn {
  ^bb0(%h: index, %p: index, %n: index):
    // expected-error @below {{expected one f32 or f64 value, found 'index' (rotation_fn-C3)}}
    pe.yield %p : index
  }
  return
}

// -----

func.func @tensor_code(%t: tensor<?xf32>) {
  %r = pe.rotation_fn(%t : tensor<?xf32>) {
  ^bb0(%h: index, %p: index, %n: index, %a: tensor<?xf32>):
    // expected-error-re @below {{on single numbers, found 'arith.addf';{{.*}}(rotation_fn-C4)}}
    %b = arith.addf %a, %a : tensor<?xf32>
    %x = pe.read %b[%h] : tensor<?xf32>
    pe.yield %x : f32
  }
  return
}

// -----

func.func @unknown_function() {
  %r = pe.rotation_fn {
  ^bb0(%h: index, %p: index, %n: index):
    %x = arith.constant 1.0 : f64
    // expected-error @below {{that every target has (docs/spec.md lists them), found 'math.acosh' (rotation_fn-C5)}}
    %y = math.acosh %x : f64
    pe.yield %y : f64
  }
  return
}

// -----

func.func @half_precision() {
  %r = pe.rotation_fn {
  ^bb0(%h: index, %p: index, %n: index):
    // expected-error @below {{i64 or index, found 'f16'; compute in a wider type (rotation_fn-C6)}}
    %x = arith.constant 1.0 : f16
    %y = arith.extf %x : f16 to f32
    pe.yield %y : f32
  }
  return
}

// -----

func.func @network(%w: tensor<?xf32>, %b: tensor<?xf32>) {
  %r = pe.rotation_fn(%w, %b : tensor<?xf32>, tensor<?xf32>) {
  ^bb0(%h: index, %p: index, %n: index, %u: tensor<?xf32>, %c: tensor<?xf32>):
    %x = arith.constant 1.0 : f32
    // expected-error @below {{expected no network in a rotation (rotation_fn-C7)}}
    %y = pe.mlp_eval %x, %h layers(%u, %c : tensor<?xf32>, tensor<?xf32>) : f32
    pe.yield %y : f32
  }
  return
}

// -----

func.func @odd_dims() {
  // expected-error @below {{to be a positive even number, found 7; dims are rotated in pairs (rotation_fn-C8)}}
  %r = pe.rotation_fn attributes {rotary_dims = 7} expr "10000 ^ (-p / n)"
  return
}

// -----

func.func @odd_head(%q: tensor<?x?x?x63xf32>) {
  %r = pe.rotation_fn expr "10000 ^ (-p / n)"
  // expected-error-re @below {{expected an even head dim to rotate in pairs, found 63;{{.*}}(rotation_fn-C9)}}
  %o = pe.attention %q, %q, %q rotate(%r)
      : (tensor<?x?x?x63xf32>, tensor<?x?x?x63xf32>, tensor<?x?x?x63xf32>) -> tensor<?x?x?x63xf32>
  return
}

// -----

func.func @too_many_dims(%q: tensor<?x?x?x32xf32>) {
  %r = pe.rotation_fn attributes {rotary_dims = 64} expr "10000 ^ (-p / n)"
  // expected-error @below {{expected rotary_dims of at most the head dim 32, found 64 (rotation_fn-C10)}}
  %o = pe.attention %q, %q, %q rotate(%r)
      : (tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>) -> tensor<?x?x?x32xf32>
  return
}

// -----

func.func @infinite_magnitude() {
  // expected-error @below {{expected magnitude to be finite, found 1.000000e+39 (rotation_fn-C11)}}
  %r = pe.rotation_fn attributes {magnitude = 1.0e39} expr "10000 ^ (-p / n)"
  return
}

// -----

func.func @head_and_pair(%t: tensor<?xf32>) {
  // expected-error @below {{capture 0 to be read at h or at p, found both; use two tensors (rotation_fn-C12)}}
  %r = pe.rotation_fn(%t : tensor<?xf32>) expr "t[h] * t[p]"
  return
}

// -----

func.func @factors_of_other_dims(%q: tensor<?x?x?x64xf32>, %t: tensor<16xf32>) {
  %r = pe.rotation_fn(%t : tensor<16xf32>) expr "10000 ^ (-p / n) / t[p]"
  // CHECK: expected axis 0 of capture 0, which is read at p, to have an entry for each of the 32 pairs of dims,
  // CHECK-SAME: {{^}} found 16 (rotation_fn-C13)
  // expected-error @below {{an entry for each of the 32 pairs of dims, found 16 (rotation_fn-C13)}}
  %o = pe.attention %q, %q, %q rotate(%r)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return
}

// -----

func.func @no_scaling() {
  // CHECK: 'pe.rotation_fn' op expected no attributes except interleaved, magnitude, rotary_dims, trailing,
  // CHECK-SAME: {{^}} found 'scaling';
  // CHECK-SAME: {{^}} pe.rotary has it; write the changed frequencies in the formula (attribute-C1)
  // expected-error-re @below {{found 'scaling'; pe.rotary has it;{{.*}}(attribute-C1)}}
  %r = pe.rotation_fn attributes {scaling = #pe.rope_scaling<linear, factor = 4.0>} expr "10000 ^ (-p / n)"
  return
}

// -----

func.func @position(%base: tensor<?xf32>) {
  // CHECK: expected h, p, n, heads_total, pi, inf or a captured tensor, found 'i';
  // CHECK-SAME: {{^}} the angle is the position times this frequency, which must not depend on positions
  // expected-error @below {{a captured tensor, found 'i'; the angle is the position times this frequency,}}
  %r = pe.rotation_fn(%base : tensor<?xf32>) expr "i * base[h] ^ (-p / n)"
  return
}

// -----

func.func @real_index(%base: tensor<?xf32>) {
  // expected-error-re @below {{an integer as index, found a real number; use a // b{{.*}}, or int(x)}}
  %r = pe.rotation_fn(%base : tensor<?xf32>) expr "base[h / 2] ^ (-p / n)"
  return
}

// -----

func.func @truth() {
  // expected-error @below {{expected a number, found a boolean; use select(condition, a, b)}}
  %r = pe.rotation_fn expr "p < n / 2"
  return
}

// -----

func.func @batches_of_tables(%c: tensor<?x?x8xf32>, %s: tensor<?x8xf32>) {
  // expected-error-re @below {{a column per pair of dims, found 'tensor<?x?x8xf32>'{{.*}}(rotation_table-C2)}}
  %r = pe.rotation_table %c, %s : tensor<?x?x8xf32>, tensor<?x8xf32>
  return
}
