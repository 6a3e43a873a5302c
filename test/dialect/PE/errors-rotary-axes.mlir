// One case per constraint of trailing dims and of positions by axis (rotary-C8 to -C13, rotation_table-C6 and
// rotation_fn-C14 of docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

func.func @trailing() {
  // expected-error-re @below {{expected rotary_dims together with trailing, found none;{{.*}}(rotary-C8)}}
  %r = pe.rotary {trailing = true}
  return
}

// -----

func.func @trailing_table(%t: tensor<?x?xf32>) {
  // expected-error-re @below {{expected rotary_dims together with trailing, found none;{{.*}}(rotation_table-C6)}}
  %r = pe.rotation_table %t, %t {trailing = true} : tensor<?x?xf32>, tensor<?x?xf32>
  return
}

// -----

func.func @trailing_formula() {
  // expected-error-re @below {{expected rotary_dims together with trailing, found none;{{.*}}(rotation_fn-C14)}}
  %r = pe.rotation_fn attributes {trailing = true} expr "1 / (1 + p)"
  return
}

// -----

func.func @no_sections(%p: tensor<3x?x?xi32>) {
  // expected-error-re @below {{together with sections, found 1 tensors and no{{.*}}(rotary-C9)}}
  %r = pe.rotary positions(%p : tensor<3x?x?xi32>)
  return
}

// -----

func.func @no_positions() {
  // expected-error-re @below {{together with sections, found 0 tensors{{.*}}(rotary-C9)}}
  %r = pe.rotary {sections = [12, 10, 10]}
  return
}

// -----

func.func @three_positions(%p: tensor<3x?x?xi32>) {
  // expected-error-re @below {{together with sections, found 3 tensors{{.*}}(rotary-C9)}}
  %r = pe.rotary positions(%p, %p, %p : tensor<3x?x?xi32>, tensor<3x?x?xi32>, tensor<3x?x?xi32>)
      {sections = [12, 10, 10]}
  return
}

// -----

func.func @axes(%p: tensor<2x?x?xi32>) {
  // expected-error @below {{expected positions along 3 axes, one per section, found 'tensor<2x?x?xi32>' (rotary-C10)}}
  %r = pe.rotary positions(%p : tensor<2x?x?xi32>) {sections = [12, 10, 10]}
  return
}

// -----

func.func @axes_of_keys(%p: tensor<3x?x?xi32>, %k: tensor<?x?x?xi32>) {
  // expected-error @below {{expected positions along 3 axes, one per section, found 'tensor<?x?x?xi32>' (rotary-C10)}}
  %r = pe.rotary positions(%p, %k : tensor<3x?x?xi32>, tensor<?x?x?xi32>) {sections = [12, 10, 10]}
  return
}

// -----

func.func @sum_of_sections(%p: tensor<3x?x?xi32>) {
  // expected-error-re @below {{sections that add up to the number of pairs, sections_of = 32, found{{.*}}(rotary-C11)}}
  %r = pe.rotary positions(%p : tensor<3x?x?xi32>) {sections = [12, 10, 9], sections_of = 32}
  return
}

// -----

func.func @empty_section(%p: tensor<3x?x?xi32>) {
  // expected-error-re @below {{expected positive sections that add up to the number of pairs, found{{.*}}(rotary-C11)}}
  %r = pe.rotary positions(%p : tensor<3x?x?xi32>) {sections = [12, 0, 4]}
  return
}

// -----

func.func @sections_of_a_head(%q: tensor<?x?x?x64xf32>, %p: tensor<3x?x?xi32>) {
  %r = pe.rotary positions(%p : tensor<3x?x?xi32>) {sections = [16, 24, 24]}
  // expected-error-re @below {{add up to the 32 rotated pairs, found a sum of 64; sections_of = 64 {{.*}}(rotary-C11)}}
  %o = pe.attention %q, %q, %q rotate(%r)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return
}

// -----

func.func @alternating_nothing() {
  // expected-error @below {{no sections_of, alternating and restart without sections, found one (rotary-C12)}}
  %r = pe.rotary {alternating = true}
  return
}

// -----

func.func @restart_of_alternating(%p: tensor<2x?x?xi32>) {
  // expected-error @below {{expected restart without alternating, found both (rotary-C12)}}
  %r = pe.rotary positions(%p : tensor<2x?x?xi32>) {sections = [4, 4], restart = true, alternating = true}
  return
}

// -----

func.func @restart_of_scaled(%p: tensor<2x?x?xi32>) {
  // expected-error @below {{expected restart without scaling, found both (rotary-C12)}}
  %r = pe.rotary positions(%p : tensor<2x?x?xi32>)
      {sections = [4, 4], restart = true, scaling = #pe.rope_scaling<linear, factor = 2.0>}
  return
}

// -----

func.func @learned_base(%b: tensor<?xf32>, %p: tensor<2x?x?xi32>) {
  // expected-error-re @below {{a base that is an attribute together with positions(...), found a tensor (rotary-C13)}}
  %r = pe.rotary %b : tensor<?xf32> positions(%p : tensor<2x?x?xi32>) {sections = [4, 4]}
  return
}
