// One case per constraint of keys that are given turned (rotated_keys-C1 to -C4 of docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics --pe-prepare --pe-to-tile-pipeline=grad

!qkv = tensor<?x?x?x?xf32>
func.func @nothing_turns(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  // expected-error-re @below {{expected rotate(...) together with rotated_keys, found none;{{.*}}(rotated_keys-C1)}}
  %o = pe.attention %q, %k, %v {rotated_keys} : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @with_prologue(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                         %u: tensor<?x?xf32> {pe.name = "u"}) -> (!qkv {pe.name = "o"}) {
  %s = pe.query_shift %u : tensor<?x?xf32>
  %r = pe.rotary
  // expected-error-re @below {{expected no prologue(...) together with rotated_keys,{{.*}}found one (rotated_keys-C2)}}
  %o = pe.attention %q, %k, %v prologue(%s) rotate(%r) {rotated_keys} : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @learned(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                   %base: tensor<?xf32> {pe.name = "base"}) -> (!qkv {pe.name = "o"}) {
  %r = pe.rotary %base : tensor<?xf32>
  %m = pe.causal
  // expected-error-re @below {{rotation without tensors for gradients with rotated_keys,{{.*}}(rotated_keys-C3)}}
  %o = pe.attention %q, %k, %v rotate(%r) mask(%m) {rotated_keys} : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @length(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %r = pe.rotary {scaling = #pe.rope_scaling<dynamic_ntk, factor = 2.0, original_length = 64>}
  %m = pe.causal
  // expected-error-re @below {{do not depend on the length together with rotated_keys,{{.*}}(rotated_keys-C4)}}
  %o = pe.attention %q, %k, %v rotate(%r) mask(%m) {rotated_keys} : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
