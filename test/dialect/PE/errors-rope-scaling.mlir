// One case per constraint of longrope and proportional (rope_scaling-C* and rotary-C7 of docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

func.func @no_list() {
  // expected-error-re @below {{expected a list of numbers for short_factor, found 1.000000e+00{{.*}}(rope_scaling-C1)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<longrope, factor = 4.0, original_length = 64, short_factor = 1.0>}
  return
}

// -----

func.func @list_for_a_number() {
  // expected-error @below {{expected a number for factor, found [4.000000e+00] (rope_scaling-C1)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<linear, factor = [4.0]>}
  return
}

// -----

func.func @length_of_logarithm() {
  // expected-error @below {{original_length of longrope to be an integer from 2 to 2^30, found 1 (rope_scaling-C3)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<longrope, factor = 4.0, original_length = 1,
                                             short_factor = [1.0], long_factor = [2.0]>}
  return
}

// -----

func.func @no_long_factor() {
  // expected-error-re @below {{short_factor as in long_factor,{{.*}}found 1 and 0 (rope_scaling-C5)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<longrope, factor = 4.0, original_length = 64, short_factor = [1.0]>}
  return
}

// -----

func.func @lists_differ() {
  // expected-error-re @below {{short_factor as in long_factor,{{.*}}found 1 and 2 (rope_scaling-C5)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<longrope, factor = 4.0, original_length = 64,
                                             short_factor = [1.0], long_factor = [2.0, 3.0]>}
  return
}

// -----

func.func @factor_of_a_pair() {
  // expected-error @below {{expected factors of pairs above 0, found 0.000000e+00 (rope_scaling-C6)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<longrope, factor = 4.0, original_length = 64,
                                             short_factor = [1.0], long_factor = [0.0]>}
  return
}

// -----

func.func @attention_factor() {
  // expected-error @below {{expected an attention_factor above 0, found -1.000000e+00 (rope_scaling-C7)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<longrope, factor = 4.0, original_length = 64, short_factor = [1.0],
                                             long_factor = [2.0], attention_factor = -1.0>}
  return
}

// -----

func.func @share_of_pairs() {
  // expected-error @below {{a partial_rotary_factor above 0 and at most 1, found 1.500000e+00 (rope_scaling-C8)}}
  %r = pe.rotary {scaling = #pe.rope_scaling<proportional, factor = 1.0, partial_rotary_factor = 1.5>}
  return
}

// -----

func.func @factors_of_pairs(%q: tensor<?x?x?x32xf32>) {
  %r = pe.rotary {scaling = #pe.rope_scaling<longrope, factor = 4.0, original_length = 64,
                                             short_factor = [1.0, 1.0], long_factor = [2.0, 3.0]>}
  // expected-error-re @below {{16 rotated pairs of a head of 32 dims, found 2; rotary_dims = 4{{.*}}(rotary-C7)}}
  %o = pe.attention %q, %q, %q rotate(%r)
      : (tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>) -> tensor<?x?x?x32xf32>
  return
}
