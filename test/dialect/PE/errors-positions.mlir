// One case per constraint positions-C1 to -C4 of docs/spec.md.
// RUN: pe-opt %s --split-input-file --verify-diagnostics

!qkv = tensor<?x?x?x?xf32>
func.func @positions_alone(%q: !qkv, %p: tensor<?x?xi32>) -> !qkv {
  // expected-error @below {{positions of both queries and keys, found only those of the queries (positions-C1)}}
  %o = "pe.attention"(%q, %q, %q, %p) <{normalizer = #pe.normalizer<softmax>,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0>}>
      : (!qkv, !qkv, !qkv, tensor<?x?xi32>) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @positions_of_an_order(%q: !qkv, %p: tensor<?x?xi32>) -> !qkv {
  %m = pe.causal
  // expected-error-re @below {{no positions(...) under stick_breaking,{{.*}}in the order of their rows (positions-C2)}}
  %o = pe.attention %q, %q, %q positions(%p, %p : tensor<?x?xi32>, tensor<?x?xi32>) mask(%m)
      {normalizer = #pe.normalizer<stick_breaking>} : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

func.func @positions_of_another_length(%q: tensor<1x1x4x8xf32>, %p: tensor<1x4xi32>, %x: tensor<1x5xi32>)
    -> tensor<1x1x4x8xf32> {
  // expected-error @below {{the length of the positions of the key to match the 4 of the key, found 5 (positions-C4)}}
  %o = pe.attention %q, %q, %q positions(%p, %x : tensor<1x4xi32>, tensor<1x5xi32>)
      : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32>
  return %o : tensor<1x1x4x8xf32>
}

// -----

func.func @positions_and_content(%q: tensor<?x?x?x?xf32>, %p: tensor<?x?xi32>, %r: tensor<9x?xf32>) {
  %c = pe.content_fn(%r : tensor<9x?xf32>) expr "r[clamp(i - j, -4, 4) + 4, d]"
  // expected-error-re @below {{expected no content(...) together with positions(...), found one;{{.*}}(positions-C3)}}
  %o = pe.attention %q, %q, %q content(%c) positions(%p, %p : tensor<?x?xi32>, tensor<?x?xi32>)
      : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @positions_and_prologue(%q: tensor<?x?x?x?xf32>, %p: tensor<?x?xi32>, %u: tensor<?x?xf32>) {
  %m = pe.query_shift %u : tensor<?x?xf32>
  // expected-error-re @below {{no prologue(...){{.*}}; rotate(...) and bias(...) read the positions (positions-C3)}}
  %o = pe.attention %q, %q, %q prologue(%m) positions(%p, %p : tensor<?x?xi32>, tensor<?x?xi32>)
      : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}
