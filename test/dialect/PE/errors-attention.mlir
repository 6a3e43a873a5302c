// One case per constraint attention-C* of docs/spec.md.
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

func.func @batch(%q: tensor<2x?x?x?xf32>, %k: tensor<3x?x?x?xf32>) {
  // expected-error @below {{expected the batch of the key to match the 2 of the query, found 3 (attention-C1)}}
  %o = pe.attention %q, %k, %k : (tensor<2x?x?x?xf32>, tensor<3x?x?x?xf32>, tensor<3x?x?x?xf32>) -> tensor<2x?x?x?xf32>
  return
}

// -----

func.func @heads(%q: tensor<?x4x?x?xf32>, %k: tensor<?x4x?x?xf32>, %v: tensor<?x2x?x?xf32>) {
  // expected-error @below {{expected the heads of the value to match the 4 of the key, found 2 (attention-C2)}}
  %o = pe.attention %q, %k, %v : (tensor<?x4x?x?xf32>, tensor<?x4x?x?xf32>, tensor<?x2x?x?xf32>) -> tensor<?x4x?x?xf32>
  return
}

// -----

func.func @grouped_heads(%q: tensor<?x8x?x?xf32>, %k: tensor<?x3x?x?xf32>) {
  // expected-error @below {{expected the query heads to be a multiple of the 3 key heads, found 8 (attention-C3)}}
  %o = pe.attention %q, %k, %k : (tensor<?x8x?x?xf32>, tensor<?x3x?x?xf32>, tensor<?x3x?x?xf32>) -> tensor<?x8x?x?xf32>
  return
}

// -----

func.func @no_key_heads(%q: tensor<?x8x?x?xf32>, %k: tensor<?x0x?x?xf32>) {
  // expected-error @below {{expected the query heads to be a multiple of the 0 key heads, found 8 (attention-C3)}}
  %o = pe.attention %q, %k, %k : (tensor<?x8x?x?xf32>, tensor<?x0x?x?xf32>, tensor<?x0x?x?xf32>) -> tensor<?x8x?x?xf32>
  return
}

// -----

func.func @head_dim(%q: tensor<?x?x?x128xf32>, %k: tensor<?x?x?x64xf32>) {
  // expected-error @below {{expected the head dim of the key to match the 128 of the query, found 64 (attention-C4)}}
  %o = pe.attention %q, %k, %k
      : (tensor<?x?x?x128xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return
}

// -----

func.func @value_dim(%q: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x32xf32>) {
  // expected-error @below {{expected the head dim of the result to match the 32 of the value, found 64 (attention-C4)}}
  %o = pe.attention %q, %q, %v
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x32xf32>) -> tensor<?x?x?x64xf32>
  return
}

// -----

func.func @length(%q: tensor<?x?x?x?xf32>, %k: tensor<?x?x100x?xf32>, %v: tensor<?x?x99x?xf32>) {
  // expected-error @below {{expected the length of the value to match the 100 of the key, found 99 (attention-C5)}}
  %o = pe.attention %q, %k, %v
      : (tensor<?x?x?x?xf32>, tensor<?x?x100x?xf32>, tensor<?x?x99x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @log_sum_exp(%q: tensor<?x8x?x?xf32>) {
  // expected-error @below {{expected the heads of the log-sum-exp to match the 8 of the query, found 4 (attention-C6)}}
  %o, %lse = pe.attention %q, %q, %q
      : (tensor<?x8x?x?xf32>, tensor<?x8x?x?xf32>, tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32>, tensor<?x4x?xf32>
  return
}

// -----

func.func @element_type(%q: tensor<?x?x?x?xf32>, %k: tensor<?x?x?x?xbf16>) {
  // expected-error @below {{expected the key to hold 'f32' like the query, found 'bf16' (attention-C7)}}
  %o = pe.attention %q, %k, %k
      : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xbf16>, tensor<?x?x?x?xbf16>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @scale(%q: tensor<?x?x?x?xf32>) {
  // expected-error @below {{expected a scale that is finite in f32, found 1.000000e+39 (attention-C8)}}
  %o = pe.attention %q, %q, %q {scale = 1.0e39}
      : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @no_order(%q: tensor<?x?x?x?xf32>) {
  // CHECK: expected a mask that implies j <= i for stick_breaking, found none; without an order of the keys its product
  // CHECK-SAME: {{^}} is undefined, use mask(%m) with pe.causal, or direction = #pe.direction<both> (attention-C9)
  // expected-error-re @below {{a mask that implies j <= i for stick_breaking, found none;{{.*}}(attention-C9)}}
  %o = pe.attention %q, %q, %q {normalizer = #pe.normalizer<stick_breaking>}
      : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

// A mask that allows later keys, such as a union with a window that reaches ahead, is not an order.
func.func @later_keys(%q: tensor<?x?x?x?xf32>) {
  %causal = pe.causal
  %window = pe.sliding_window {right = 2}
  %m = pe.mask_or %causal, %window
  // expected-error @below {{found one that allows later keys}}
  %o = pe.attention %q, %q, %q mask(%m) {normalizer = #pe.normalizer<stick_breaking>}
      : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

// These masks imply an order: a window without later keys, and an intersection with a causal mask.
func.func @orders(%q: tensor<?x?x?x?xf32>) {
  %past = pe.sliding_window {right = 1}
  %o = pe.attention %q, %q, %q mask(%past) {normalizer = #pe.normalizer<stick_breaking>}
      : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  %strict = pe.strict_causal
  %near = pe.sliding_window {left = 16, right = 16}
  %m = pe.mask_and %near, %strict
  %o2 = pe.attention %q, %q, %q mask(%m) {normalizer = #pe.normalizer<stick_breaking>}
      : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

// In a private function, the mask may be an argument. It is checked after inlining.
func.func private @mask_argument(%q: tensor<?x?x?x?xf32>, %m: !pe.mask) {
  %o = pe.attention %q, %q, %q mask(%m) {normalizer = #pe.normalizer<stick_breaking>}
      : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @rank(%q: tensor<?x?x?xf32>) {
  // expected-error @below {{operand #0 must be 4D tensor}}
  %o = "pe.attention"(%q, %q, %q)
      <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}>
      : (tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  return
}
