// One case per constraint of keys and values in pages that `pe.attention` verifies (pages-C1 to -C5 of docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

!qkv = tensor<?x?x?x?xf32>
func.func @batch(%q: tensor<2x?x?x?xf32>, %k: !qkv, %v: !qkv, %t: tensor<3x?xi32>) {
  // expected-error @below {{expected the batch of the table of pages to match the 2 of the query, found 3 (pages-C1)}}
  %o = pe.attention %q, %k, %v pages(%t : tensor<3x?xi32>)
      : (tensor<2x?x?x?xf32>, !qkv, !qkv) -> tensor<2x?x?x?xf32>
  return
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @sizes(%q: !qkv, %k: tensor<?x16x?x?xf32>, %v: tensor<?x32x?x?xf32>, %t: tensor<?x?xi32>) {
  // expected-error @below {{expected the size of a page of the value to match the 16 of the key, found 32 (pages-C1)}}
  %o = pe.attention %q, %k, %v pages(%t : tensor<?x?xi32>)
      : (!qkv, tensor<?x16x?x?xf32>, tensor<?x32x?x?xf32>) -> !qkv
  return
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @number(%q: !qkv, %k: tensor<9x?x?x?xf32>, %v: tensor<8x?x?x?xf32>, %t: tensor<?x?xi32>) {
  // expected-error @below {{expected the number of pages of the value to match the 9 of the key, found 8 (pages-C1)}}
  %o = pe.attention %q, %k, %v pages(%t : tensor<?x?xi32>)
      : (!qkv, tensor<9x?x?x?xf32>, tensor<8x?x?x?xf32>) -> !qkv
  return
}

// -----

!qkv = tensor<?x?x?x?xf32>
!pool = tensor<?x0x?x?xf32>
func.func @empty(%q: !qkv, %k: !pool, %v: !pool, %t: tensor<?x?xi32>) {
  // expected-error @below {{expected pages of at least one key, found 0 (pages-C2)}}
  %o = pe.attention %q, %k, %v pages(%t : tensor<?x?xi32>) : (!qkv, !pool, !pool) -> !qkv
  return
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @rotation(%q: !qkv, %k: !qkv, %v: !qkv, %t: tensor<?x?xi32>) {
  %r = pe.rotary
  // expected-error-re @below {{expected rotated_keys together with rotate(...) and pages(...),{{.*}}(pages-C3)}}
  %o = pe.attention %q, %k, %v rotate(%r) pages(%t : tensor<?x?xi32>) : (!qkv, !qkv, !qkv) -> !qkv
  return
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @shift(%q: !qkv, %k: !qkv, %v: !qkv, %t: tensor<?x?xi32>, %u: tensor<?x?xf32>) {
  %s = pe.query_shift %u : tensor<?x?xf32>
  // expected-error-re @below {{expected no prologue(...) together with pages(...),{{.*}}found one (pages-C4)}}
  %o = pe.attention %q, %k, %v prologue(%s) pages(%t : tensor<?x?xi32>) : (!qkv, !qkv, !qkv) -> !qkv
  return
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @own_value(%q: !qkv, %k: !qkv, %v: !qkv, %t: tensor<?x?xi32>) {
  %m = pe.causal
  // expected-error-re @below {{remainder = #pe.remainder<drop> together with pages(...), found value;{{.*}}(pages-C5)}}
  %o = pe.attention %q, %k, %v mask(%m) pages(%t : tensor<?x?xi32>)
      {normalizer = #pe.normalizer<stick_breaking>, remainder = #pe.remainder<value>} : (!qkv, !qkv, !qkv) -> !qkv
  return
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @key_heads(%q: tensor<?x8x?x?xf32>, %k: tensor<?x16x3x?xf32>, %v: !qkv, %t: tensor<?x?xi32>) {
  // expected-error @below {{expected the query heads to be a multiple of the 3 key heads, found 8 (attention-C3)}}
  %o = pe.attention %q, %k, %v pages(%t : tensor<?x?xi32>)
      : (tensor<?x8x?x?xf32>, tensor<?x16x3x?xf32>, !qkv) -> tensor<?x8x?x?xf32>
  return
}
