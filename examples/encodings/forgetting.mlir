// FoX: b_h(i, j) = F_q[h, i] - F[h, j], F the cumulative log of forget gates.
//
// f holds F of every key. f_q, that of every query, may be left out: a query's own F is then that of
// the key at its position. It is needed where a position has no key in the call, as when keys are
// split. The two are subtracted per pair before anything is added to them: F grows with the length,
// the difference of near positions does not.
//
// Lin et al. 2025, arXiv 2503.02130, section 3.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %f: tensor<?x?x?xf32> {pe.name = "f", pe.axes = ["batch", "head", "key"]},
                     %f_q: tensor<?x?x?xf32> {pe.name = "f_q", pe.axes = ["batch", "head", "query"],
                                              pe.absent = "f"})
    -> (!qkv {pe.name = "o"}) {
  %b = pe.bias_fn(%f, %f_q : tensor<?x?x?xf32>, tensor<?x?x?xf32>) expr "f_q[b, h, i] - f[b, h, j]"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
