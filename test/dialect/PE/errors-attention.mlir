// One case per constraint attention-C*, clause-C*, sink-C*, dropout-C* and positions-C1 to -C4 of docs/spec.md.
// RUN: pe-opt %s --split-input-file --verify-diagnostics

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
  %o = pe.attention %q, %k, %k : (tensor<?x?x?x128xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return
}

// -----

func.func @value_dim(%q: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x32xf32>) {
  // expected-error @below {{expected the head dim of the result to match the 32 of the value, found 64 (attention-C4)}}
  %o = pe.attention %q, %q, %v : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x32xf32>) -> tensor<?x?x?x64xf32>
  return
}

// -----

func.func @length(%q: tensor<?x?x?x?xf32>, %k: tensor<?x?x100x?xf32>, %v: tensor<?x?x99x?xf32>) {
  // expected-error @below {{expected the length of the value to match the 100 of the key, found 99 (attention-C5)}}
  %o = pe.attention %q, %k, %v : (tensor<?x?x?x?xf32>, tensor<?x?x100x?xf32>, tensor<?x?x99x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @log_sum_exp(%q: tensor<?x8x?x?xf32>) {
  // expected-error @below {{expected the heads of the log-sum-exp to match the 8 of the query, found 4 (attention-C6)}}
  %o, %lse = pe.attention %q, %q, %q : (tensor<?x8x?x?xf32>, tensor<?x8x?x?xf32>, tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32>, tensor<?x4x?xf32>
  return
}

// -----

func.func @element_type(%q: tensor<?x?x?x?xf32>, %k: tensor<?x?x?x?xbf16>) {
  // expected-error @below {{expected the key to hold 'f32' like the query, found 'bf16' (attention-C7)}}
  %o = pe.attention %q, %k, %k : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xbf16>, tensor<?x?x?x?xbf16>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @scale(%q: tensor<?x?x?x?xf32>) {
  // expected-error @below {{expected a scale that is finite in f32, found 1.000000e+39 (attention-C8)}}
  %o = pe.attention %q, %q, %q {scale = 1.0e39} : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @no_order(%q: tensor<?x?x?x?xf32>) {
  // expected-error @below {{expected a mask that implies j <= i for stick_breaking, found none; without an order of the keys its product is undefined, use mask(%m) with pe.causal, or direction = #pe.direction<both> (attention-C9)}}
  %o = pe.attention %q, %q, %q {normalizer = #pe.normalizer<stick_breaking>} : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

// A window that reaches one key ahead, or a union with it, is not an order.
func.func @later_keys(%q: tensor<?x?x?x?xf32>) {
  %causal = pe.causal
  %window = pe.sliding_window {right = 2}
  %m = pe.mask_or %causal, %window
  // expected-error @below {{found one that allows later keys}}
  %o = pe.attention %q, %q, %q mask(%m) {normalizer = #pe.normalizer<stick_breaking>} : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

// Other masks that imply an order: a window without later keys, and the intersection with a causal mask.
func.func @orders(%q: tensor<?x?x?x?xf32>) {
  %past = pe.sliding_window {right = 1}
  %o = pe.attention %q, %q, %q mask(%past) {normalizer = #pe.normalizer<stick_breaking>} : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  %strict = pe.strict_causal
  %near = pe.sliding_window {left = 16, right = 16}
  %m = pe.mask_and %near, %strict
  %o2 = pe.attention %q, %q, %q mask(%m) {normalizer = #pe.normalizer<stick_breaking>} : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

// In a private function, the mask may be an argument. It is checked after inlining.
func.func private @mask_argument(%q: tensor<?x?x?x?xf32>, %m: !pe.mask) {
  %o = pe.attention %q, %q, %q mask(%m) {normalizer = #pe.normalizer<stick_breaking>} : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @odd_head_dim(%q: tensor<?x?x?x63xf32>) {
  %r = pe.rotary
  // expected-error @below {{expected an even head dim to rotate in pairs, found 63; set rotary_dims to an even number below it (rotary-C3)}}
  %o = pe.attention %q, %q, %q rotate(%r) : (tensor<?x?x?x63xf32>, tensor<?x?x?x63xf32>, tensor<?x?x?x63xf32>) -> tensor<?x?x?x63xf32>
  return
}

// -----

func.func @too_many_rotary_dims(%q: tensor<?x?x?x32xf32>) {
  %r = pe.rotary {rotary_dims = 64}
  // expected-error @below {{expected rotary_dims of at most the head dim 32, found 64 (rotary-C4)}}
  %o = pe.attention %q, %q, %q rotate(%r) : (tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>) -> tensor<?x?x?x32xf32>
  return
}

// -----

func.func @rank(%q: tensor<?x?x?xf32>) {
  // expected-error @below {{operand #0 must be 4D tensor}}
  %o = "pe.attention"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}> : (tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  return
}

// -----

func.func @unknown_clause(%q: tensor<?x?x?x?xf32>) {
  %m = pe.causal
  // expected-error @below {{expected bias(...), prologue(...), rotate(...), content(...), value_content(...), score(...), sink(...), factor(...), dropout(...), positions(...), mask(...), attributes or ':' with the types, found 'foo' (clause-C1)}}
  %o = pe.attention %q, %q, %q foo(%m) : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @clause_not_built(%q: tensor<?x?x?x?xf32>) {
  %m = pe.causal
  // expected-error @below {{clause rotated_keys(...) is not supported yet; write bias(...), prologue(...), rotate(...), content(...), value_content(...), score(...), sink(...), factor(...), dropout(...), positions(...) or mask(...) (clause-C2)}}
  %o = pe.attention %q, %q, %q mask(%m) rotated_keys(%m) : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @clause_order(%q: tensor<?x?x?x?xf32>) {
  %m = pe.causal
  // expected-error @below {{expected the clauses in the order bias(...) prologue(...) rotate(...) content(...) value_content(...) score(...) sink(...) factor(...) dropout(...) positions(...) mask(...), found rotate after mask (clause-C3)}}
  %o = pe.attention %q, %q, %q mask(%m) rotate(%m) : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @clause_twice(%q: tensor<?x?x?x?xf32>) {
  %m = pe.causal
  // expected-error @below {{expected one clause mask(...), found two; combine masks by pe.mask_and (clause-C3)}}
  %o = pe.attention %q, %q, %q mask(%m) mask(%m) : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @empty_clause(%q: tensor<?x?x?x?xf32>) {
  %m = pe.causal
  // expected-error @below {{expected a bias in bias(...), found none; omit the clause (clause-C4)}}
  %o = pe.attention %q, %q, %q bias() mask(%m) : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @sink_under_stick_breaking(%q: !t, %s: tensor<?xf32>) {
  %mask = pe.causal
  // expected-error @below {{expected no sink(...) under stick_breaking, which has no denominator that a sink could join (sink-C1)}}
  %o = pe.attention %q, %q, %q sink(%s : tensor<?xf32>) mask(%mask) {normalizer = #pe.normalizer<stick_breaking>} : (!t, !t, !t) -> !t
  return
}

// -----

func.func @two_dims_stretched(%q: tensor<?x?x?x32xf32>) {
  %r = pe.rotary {rotary_dims = 2, scaling = #pe.rope_scaling<ntk, factor = 4.0>}
  // expected-error @below {{expected at least 4 rotated dims for scaling by ntk, found 2 (rotary-C6)}}
  %o = pe.attention %q, %q, %q rotate(%r) : (tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>) -> tensor<?x?x?x32xf32>
  return
}

// -----

!t = tensor<?x4x?x?xf32>
func.func @sinks_of_other_heads(%q: !t, %s: tensor<3xf32>) {
  // expected-error @below {{expected the heads of the sinks to match the 4 of the query, found 3 (sink-C2)}}
  %o = pe.attention %q, %q, %q sink(%s : tensor<3xf32>) : (!t, !t, !t) -> !t
  return
}

// -----

func.func @odd_head_dim_of_table(%q: tensor<?x?x?x63xf32>, %t: tensor<?x?xf32>) {
  %r = pe.rotation_table %t, %t : tensor<?x?xf32>, tensor<?x?xf32>
  // expected-error @below {{expected an even head dim to rotate in pairs, found 63; set rotary_dims to an even number below it (rotation_table-C3)}}
  %o = pe.attention %q, %q, %q rotate(%r) : (tensor<?x?x?x63xf32>, tensor<?x?x?x63xf32>, tensor<?x?x?x63xf32>) -> tensor<?x?x?x63xf32>
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @probability_without_seed(%q: !t) {
  // expected-error @below {{expected both a probability of dropout and a seed, found only the probability (dropout-C1)}}
  %o = pe.attention %q, %q, %q {dropout = 0.1} : (!t, !t, !t) -> !t
  return
}

// -----

func.func @too_many_dims_of_table(%q: tensor<?x?x?x32xf32>, %t: tensor<?x?xf32>) {
  %r = pe.rotation_table %t, %t {rotary_dims = 64} : tensor<?x?xf32>, tensor<?x?xf32>
  // expected-error @below {{expected rotary_dims of at most the head dim 32, found 64 (rotation_table-C4)}}
  %o = pe.attention %q, %q, %q rotate(%r) : (tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>) -> tensor<?x?x?x32xf32>
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @nothing_is_left(%q: !t, %seed: tensor<i64>) {
  // expected-error @below {{expected a probability of dropout in [0, 1), found 1.000000e+00 (dropout-C2)}}
  %o = pe.attention %q, %q, %q dropout(1.0, %seed : tensor<i64>) : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @negative_probability(%q: !t, %seed: tensor<i64>) {
  // expected-error @below {{expected a probability of dropout in [0, 1), found -1.000000e-01 (dropout-C2)}}
  %o = pe.attention %q, %q, %q dropout(-0.1, %seed : tensor<i64>) : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<2x?x?x?xf32>
func.func @seeds_of_another_batch(%q: !t, %seed: tensor<3xi64>) {
  // expected-error @below {{expected the batch of the seeds to match the 2 of the query, found 3 (dropout-C3)}}
  %o = pe.attention %q, %q, %q dropout(0.1, %seed : tensor<3xi64>) : (!t, !t, !t) -> !t
  return
}

// -----

func.func @columns_of_table(%q: tensor<?x?x?x32xf32>, %t: tensor<?x8xf32>) {
  %r = pe.rotation_table %t, %t : tensor<?x8xf32>, tensor<?x8xf32>
  // expected-error @below {{expected a column for each of the 16 pairs of dims, found 8 (rotation_table-C5)}}
  %o = pe.attention %q, %q, %q rotate(%r) : (tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>) -> tensor<?x?x?x32xf32>
  return
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @positions_alone(%q: !qkv, %p: tensor<?x?xi32>) -> !qkv {
  // expected-error @below {{expected positions of both queries and keys, found only those of the queries (positions-C1)}}
  %o = "pe.attention"(%q, %q, %q, %p) <{normalizer = #pe.normalizer<softmax>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0>}> : (!qkv, !qkv, !qkv, tensor<?x?xi32>) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @positions_of_an_order(%q: !qkv, %p: tensor<?x?xi32>) -> !qkv {
  %m = pe.causal
  // expected-error @below {{expected no positions(...) under stick_breaking, which uses the keys in the order of their rows (positions-C2)}}
  %o = pe.attention %q, %q, %q positions(%p, %p : tensor<?x?xi32>, tensor<?x?xi32>) mask(%m) {normalizer = #pe.normalizer<stick_breaking>} : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

func.func @positions_of_another_length(%q: tensor<1x1x4x8xf32>, %p: tensor<1x4xi32>, %x: tensor<1x5xi32>) -> tensor<1x1x4x8xf32> {
  // expected-error @below {{expected the length of the positions of the key to match the 4 of the key, found 5 (positions-C4)}}
  %o = pe.attention %q, %q, %q positions(%p, %x : tensor<1x4xi32>, tensor<1x5xi32>) : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32>
  return %o : tensor<1x1x4x8xf32>
}

// -----

func.func @positions_and_content(%q: tensor<?x?x?x?xf32>, %p: tensor<?x?xi32>, %r: tensor<9x?xf32>) {
  %c = pe.content_fn(%r : tensor<9x?xf32>) expr "r[clamp(i - j, -4, 4) + 4, d]"
  // expected-error @below {{expected no content(...) together with positions(...), found one; rotate(...) and bias(...) read the positions (positions-C3)}}
  %o = pe.attention %q, %q, %q content(%c) positions(%p, %p : tensor<?x?xi32>, tensor<?x?xi32>) : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @positions_and_prologue(%q: tensor<?x?x?x?xf32>, %p: tensor<?x?xi32>, %u: tensor<?x?xf32>) {
  %m = pe.query_shift %u : tensor<?x?xf32>
  // expected-error @below {{expected no prologue(...) together with positions(...), found one; rotate(...) and bias(...) read the positions (positions-C3)}}
  %o = pe.attention %q, %q, %q prologue(%m) positions(%p, %p : tensor<?x?xi32>, tensor<?x?xi32>) : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

!t = tensor<?x?x?x?xf32>

func.func @value_content_of_stick_breaking(%q: !t, %k: !t, %v: !t, %r: tensor<33x?xf32>) {
  %c = pe.content_fn(%r : tensor<33x?xf32>) expr "r[clamp(i - j, -16, 16) + 16, d]"
  %m = pe.strict_causal
  // expected-error @below {{expected no value_content(...) under stick_breaking, found one; it is added only to the output of softmax (value_content-C1)}}
  %o = pe.attention %q, %k, %v value_content(%c) mask(%m) {normalizer = #pe.normalizer<stick_breaking>}
      : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>

func.func @value_content_with_a_shift(%q: !t, %k: !t, %v: !t, %r: tensor<33x?xf32>, %s: tensor<?x?xf32>) {
  %c = pe.content_fn(%r : tensor<33x?xf32>) shift(%s : tensor<?x?xf32>) expr "r[clamp(i - j, -16, 16) + 16, d]"
  // expected-error @below {{expected a value_content(...) without shift(...), which applies to queries, found one with it (value_content-C2)}}
  %o = pe.attention %q, %k, %v value_content(%c) : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x4x?x64xf32>
func.func @factors_twice(%q: !t, %f: !pe.factor) {
  // expected-error @below {{expected one clause factor(...), found two; write factor(%a, %b) (clause-C3)}}
  %o = pe.attention %q, %q, %q factor(%f) factor(%f) : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x4x?x64xf32>
func.func @no_factors(%q: !t) {
  // expected-error @below {{expected a factor in factor(...), found none; omit the clause (clause-C4)}}
  %o = pe.attention %q, %q, %q factor() : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x4x?x64xf32>
func.func @sink_value_under_stick_breaking(%q: !t, %s: !pe.sink) {
  %mask = pe.causal
  // expected-error @below {{expected no sink(...) under stick_breaking, which has no denominator that a sink could join (sink-C1)}}
  %o = pe.attention %q, %q, %q sink(%s) mask(%mask) {normalizer = #pe.normalizer<stick_breaking>} : (!t, !t, !t) -> !t
  return
}
