// FoX: b_h(i, j) = F_q[h, i] - F[h, j], where F is the cumulative log of forget gates.
//
// f is F of every key. f_q is F of every query and can be omitted: a query then uses the F of the key
// at its position. f_q is required if a query's position has no key in the call, as when keys are
// split. Both are subtracted per pair before other terms are added, because F grows with the length
// but the difference of near positions does not.
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
