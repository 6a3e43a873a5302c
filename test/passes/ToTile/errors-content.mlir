// RUN: pe-opt %s --pe-to-tile-pipeline="grad=1" --split-input-file --verify-diagnostics
// Value vectors that differ at every distance are rejected with their name.
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %er: tensor<2048x?xf32> {pe.name = "er", pe.axes = ["rows", "value_depth"], pe.init = "normal(1)"})
    -> (!qkv {pe.name = "o"}) {
  // expected-error-re @below {{with at most 128 different vectors{{.*}}found one that has a different vector at every}}
  %c = pe.content_fn(%er : tensor<2048x?xf32>) expr "er[2047 - (i - j), d]"
  %m = pe.causal
  %o = pe.attention %q, %k, %v value_content(%c) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

// Sines and cosines of the distance are also rejected.
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  // expected-error @below {{this is not built yet}}
  %c = pe.content_fn expr "sin((i - j) * (1 / (1 + d // 2)))"
  %m = pe.causal
  %o = pe.attention %q, %k, %v value_content(%c) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
