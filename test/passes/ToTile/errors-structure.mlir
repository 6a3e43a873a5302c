// RUN: pe-opt %s --pe-to-tile --split-input-file --verify-diagnostics
// RUN: pe-opt %s --pe-split-terms --pe-explain-structure --split-input-file --verify-diagnostics -o /dev/null
// Both readers name the pass that stores what they read.
!t = tensor<?x?x?x?xf32>

func.func @mask(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"}) -> (!t {pe.name = "o"}) {
  %m = pe.causal
  // expected-error @below {{expected a mask in parts; run pe-expand-masks first}}
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>

func.func @content(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"}) -> (!t {pe.name = "o"}) {
  %c = pe.content_fn expr "1 / (1 + abs(i - j))"
  // expected-error @below {{content terms with a class; run pe-expand-functions and pe-classify-functions first}}
  %o = pe.attention %q, %k, %v content(%c) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>

func.func @factors(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"}) -> (!t {pe.name = "o"}) {
  %a = pe.factor_fn expr "exp(-abs(i - j))"
  %b = pe.factor_fn expr "cos(i - j)"
  // expected-error @below {{one per query; run pe-expand-functions and pe-classify-functions first}}
  %o = pe.attention %q, %k, %v factor(%a, %b) : (!t, !t, !t) -> !t
  return %o : !t
}
