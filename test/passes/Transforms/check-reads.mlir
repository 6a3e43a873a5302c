// Subscripts that may be intended, and reads that no kept pair executes.
// RUN: pe-opt %s --pe-prepare --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=NONE
// NONE-NOT: error

!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %amp: tensor<?xf32> {pe.name = "amp"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  %b = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[h] + amp[h // 2] + amp[0] + amp[size(amp, 0) - 1 - h]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %table: tensor<?x64xf32> {pe.name = "table"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  %b = pe.bias_fn(%table : tensor<?x64xf32>)
      expr "table[h, i - j] + table[h, clamp(i - j, -9, 9) + 9] + table[h, abs(i - j)]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %table: tensor<?x64xf32> {pe.name = "table"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  %b = pe.bias_fn(%table : tensor<?x64xf32>) expr "select(i >= j, table[h, i - j], table[h, j - i])"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %table: tensor<?x64xf32> {pe.name = "table"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  %b = pe.bias_fn(%table : tensor<?x64xf32>) expr "select(j > i and i > 3, table[h, i - j], 0)"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %f: tensor<?x?x?xf32> {pe.name = "f", pe.axes = ["batch", "head", "key"]})
    -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  %b = pe.bias_fn(%f : tensor<?x?x?xf32>) expr "f[b, h, i] - f[b, h, j] + f[b, h, j - 1] + f[b, h, 0]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %ids: tensor<?x?xi32> {pe.name = "ids", pe.axes = ["batch", "key"]},
                     %kinds: tensor<6x?xf32> {pe.name = "kinds"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  %b = pe.bias_fn(%ids, %kinds : tensor<?x?xi32>, tensor<6x?xf32>) expr "kinds[ids[b, j], h] + kinds[ids[b, i], h]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %w: tensor<?xf32> {pe.name = "w", pe.axes = ["waves"]}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  %b = pe.bias_fn(%w : tensor<?xf32>) expr "sum(n < size(w, 0), cos(w[n] * (i - j)))"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %one: tensor<1x?xf32> {pe.name = "one", pe.axes = ["batch", "key"]}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  %b = pe.bias_fn(%one : tensor<1x?xf32>) expr "one[b, j]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
// Without a mask both signs occur.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %table: tensor<?x64xf32> {pe.name = "table"}) -> (!qkv {pe.name = "o"}) {
  %b = pe.bias_fn(%table : tensor<?x64xf32>) expr "table[h, j - i]"
  %o = pe.attention %q, %k, %v bias(%b) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!x = tensor<?x?x?xf32>
func.func @embedding(%x: !x {pe.name = "x"},
                     %t: tensor<?x?xf32> {pe.name = "t", pe.axes = ["rows", "model"]})
    -> (!x {pe.name = "y"}) {
  %e = pe.embedding_fn(%t : tensor<?x?xf32>) expr "t[p, d] + t[p // 2, d - d % 2]"
  %y = pe.embed %x, %e : !x
  return %y : !x
}
