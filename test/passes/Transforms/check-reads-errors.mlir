// Subscripts that cannot be intended, and unread captures and arguments.
// RUN: pe-opt %s --pe-prepare --split-input-file --verify-diagnostics

!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %amp: tensor<?xf32> {pe.name = "amp"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-error-re @below {{the axis of amp counts heads and is read at i; did you mean amp[h]?{{.*}}(read-C3)}}
  %b = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[i]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %amp: tensor<?xf32> {pe.name = "amp"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-error-re @below {{the axis of amp counts heads and is read at j; did you mean amp[h]?{{.*}}(read-C3)}}
  %b = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[j]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %amp: tensor<?xf32> {pe.name = "amp"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-error-re @below {{the axis of amp counts heads and is read at i - j; did you mean amp[h]?{{.*}}(read-C3)}}
  %b = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[i - j]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %amp: tensor<?xf32> {pe.name = "amp"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-error-re @below {{the axis of amp counts heads and is read at b; did you mean amp[h]?{{.*}}(read-C3)}}
  %b = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[b]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %table: tensor<?x64xf32> {pe.name = "table"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-error-re @below {{axis 0 of table counts heads and is read at i - j; did you mean table[h{{.*}}(read-C3)}}
  %b = pe.bias_fn(%table : tensor<?x64xf32>) expr "table[i - j, h]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %f: tensor<?x?x?xf32> {pe.name = "f", pe.axes = ["batch", "head", "key"]})
    -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-error @below {{axis 0 of f counts batches and is read at h; did you mean f[b, h, j]? (read-C3)}}
  %b = pe.bias_fn(%f : tensor<?x?x?xf32>) expr "f[h, b, j]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %f: tensor<?x?xf32> {pe.name = "f", pe.axes = ["batch", "query"]}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-error @below {{axis 1 of f counts queries and is read at j; did you mean f[b, i]? (read-C3)}}
  %b = pe.bias_fn(%f : tensor<?x?xf32>) expr "f[b, j]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %f: tensor<?x?xf32> {pe.name = "f", pe.axes = ["batch", "key"]}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-error @below {{axis 1 of f counts keys and is read at i - j; did you mean f[b, j]? (read-C3)}}
  %b = pe.bias_fn(%f : tensor<?x?xf32>) expr "f[b, i - j]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %amp: tensor<?xf32> {pe.name = "amp"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-error @below {{the axis of amp counts heads and is read at i; did you mean amp[h]?}}
  %b = pe.bias_fn(%amp : tensor<?xf32>) expr "sum(n < 3, amp[i] * n)"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %amp: tensor<?xf32> {pe.name = "amp"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-error @below {{the axis of amp counts heads and is read at j}}
  %b = pe.score_fn(%amp : tensor<?xf32>) expr "s * amp[j]"
  %o = pe.attention %q, %k, %v score(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %amp: tensor<?xf32> {pe.name = "amp"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-error @below {{the axis of amp counts heads and is read at j}}
  %b = pe.factor_fn(%amp : tensor<?xf32>) expr "amp[j]"
  %o = pe.attention %q, %k, %v factor(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %amp: tensor<?xf32> {pe.name = "amp"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-error @below {{the axis of amp counts heads and is read at i}}
  %b = pe.sink_fn(%amp : tensor<?xf32>) expr "amp[i]"
  %o = pe.attention %q, %k, %v sink(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %n: tensor<?xi32> {pe.name = "n"}) -> (!qkv {pe.name = "o"}) {
  // expected-error @below {{the axis of n counts heads and is read at i}}
  %b = pe.mask_fn(%n : tensor<?xi32>) expr "j < n[i]"
  %o = pe.attention %q, %k, %v mask(%b) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %amp: tensor<?xf32> {pe.name = "amp"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-error @below {{index -1 of amp is below 0; the last element is at size(amp, 0) - 1 (read-C4)}}
  %b = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[-1]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %amp: tensor<?xf32> {pe.name = "amp"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-error @below {{is below 0; the last element is at size(amp, 0) - 1 (read-C4)}}
  %b = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[2 - 5]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %table: tensor<?x64xf32> {pe.name = "table"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-error-re @below {{the index j - i of table is never above 0 under this mask:{{.*}}(read-C5)}}
  %b = pe.bias_fn(%table : tensor<?x64xf32>) expr "table[h, j - i]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %table: tensor<?x64xf32> {pe.name = "table"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-error-re @below {{the index i - j + 63 of table is never below 63 under this mask:{{.*}}(read-C5)}}
  %b = pe.bias_fn(%table : tensor<?x64xf32>) expr "table[h, i - j + 63]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %table: tensor<?x64xf32> {pe.name = "table"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-error @below {{the index j - i of table is never above 0 under this mask}}
  %b = pe.bias_fn(%table : tensor<?x64xf32>) expr "select(i - j < 4, table[h, j - i], 0)"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %amp: tensor<?xf32> {pe.name = "amp"},
                     %tau: tensor<?xf32> {pe.name = "tau"}) -> (!qkv {pe.name = "o"}) {
  %m = pe.causal
  // expected-warning @below {{tau is captured but not read}}
  %b = pe.bias_fn(%amp, %tau : tensor<?xf32>, tensor<?xf32>) expr "amp[h] * (i - j)"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!x = tensor<?x?x?xf32>
func.func @embedding(%x: !x {pe.name = "x"},
                     %t: tensor<?x?xf32> {pe.name = "t", pe.axes = ["rows", "model"]})
    -> (!x {pe.name = "y"}) {
  // expected-error @below {{axis 1 of t counts dims and is read at p; did you mean t[p, d]? (read-C3)}}
  %e = pe.embedding_fn(%t : tensor<?x?xf32>) expr "t[d, p]"
  %y = pe.embed %x, %e : !x
  return %y : !x
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     // expected-warning @below {{argument 'tau' is not read}}
                     %tau: tensor<?xf32> {pe.name = "tau"}) -> (!qkv {pe.name = "o"}) {
  %o = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @extent_beyond_table(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                               %r: tensor<?x?x?x8xf32> {pe.name = "r"}, %p: tensor<8x64xf32> {pe.name = "p"})
    -> (!qkv {pe.name = "o"}) {
  // expected-error-re @below {{of p is from 0 to 99 at distances below the extent 100, expected 0 to 63;{{.*}}}}
  %c = pe.content_fn(%p : tensor<8x64xf32>) extent(100) expr "p[d, i - j]"
  %m = pe.causal
  %o = pe.attention %q, %k, %v content(%c) query(%r : tensor<?x?x?x8xf32>) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
// -----
!qkv = tensor<?x?x?x?xf32>
func.func @extent_without_mask(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                               %r: tensor<?x?x?x8xf32> {pe.name = "r"}, %p: tensor<8x64xf32> {pe.name = "p"})
    -> (!qkv {pe.name = "o"}) {
  // expected-error-re @below {{p is from -63 to 63 at distances below the extent 64,{{.*}}or use a mask{{.*}}-C10)}}
  %c = pe.content_fn(%p : tensor<8x64xf32>) extent(64) expr "p[d, i - j]"
  %o = pe.attention %q, %k, %v content(%c) query(%r : tensor<?x?x?x8xf32>) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
