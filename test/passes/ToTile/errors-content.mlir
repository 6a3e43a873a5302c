// RUN: pe-opt %s --pe-to-tile-pipeline="grad=1" --split-input-file --verify-diagnostics
// Content terms with a vector of their own at every distance are refused by name.
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %er: tensor<2048x?xf32> {pe.name = "er", pe.axes = ["rows", "depth"], pe.init = "normal(1)"})
    -> (!qkv {pe.name = "o"}) {
  // expected-error @below {{expected a content term with at most 128 different vectors, or of sines and cosines of (i - j) * w where w takes d through d // 2 alone, found one that has a vector of its own at every distance; this is not built yet}}
  %c = pe.content_fn(%er : tensor<2048x?xf32>) expr "er[2047 - (i - j), d]"
  %m = pe.causal
  %o = pe.attention %q, %k, %v content(%c) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

// A frequency of its own for every dim is no pair.
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  // expected-error @below {{this is not built yet}}
  %c = pe.content_fn expr "sin((i - j) * (d / dim))"
  %m = pe.causal
  %o = pe.attention %q, %k, %v content(%c) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
