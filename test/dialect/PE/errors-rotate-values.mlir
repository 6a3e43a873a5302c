// One case per constraint of rotated values (rotate_values-C* of docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

!qkv = tensor<?x?x?x?xf32>
func.func @value_content(%q: !qkv, %k: !qkv, %v: !qkv, %rel: tensor<9x?xf32>) {
  %r = pe.rotary
  %c = pe.content_fn(%rel : tensor<9x?xf32>) expr "rel[clamp(i - j, -4, 4) + 4, d]"
  // expected-error-re @below {{no value_content(...) together with rotate_values(...),{{.*}}(rotate_values-C1)}}
  %o = pe.attention %q, %k, %v rotate_values(%r) value_content(%c) : (!qkv, !qkv, !qkv) -> !qkv
  return
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @pages(%q: !qkv, %k: !qkv, %v: !qkv, %t: tensor<?x?xi32>) {
  %r = pe.rotary
  // expected-error-re @below {{no pages(...) together with rotate_values(...), found pages;{{.*}}(rotate_values-C2)}}
  %o = pe.attention %q, %k, %v rotate_values(%r) pages(%t : tensor<?x?xi32>) : (!qkv, !qkv, !qkv) -> !qkv
  return
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @learned(%q: !qkv, %k: !qkv, %v: !qkv, %b: tensor<f32>) {
  %r = pe.rotary %b : tensor<f32>
  // expected-error-re @below {{rotation of values without a learned base,{{.*}}found one with them (rotate_values-C3)}}
  %o = pe.attention %q, %k, %v rotate_values(%r) : (!qkv, !qkv, !qkv) -> !qkv
  return
}

// -----

func.func @depth(%q: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x32xf32>) {
  %r = pe.rotary {rotary_dims = 64}
  // expected-error @below {{expected rotary_dims of at most the head dim 32, found 64 (rotary-C4)}}
  %o = pe.attention %q, %q, %v rotate_values(%r)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x32xf32>) -> tensor<?x?x?x32xf32>
  return
}
