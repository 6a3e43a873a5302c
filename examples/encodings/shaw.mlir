// Relative position representations of keys: a learned vector per clipped distance, multiplied with
// the query (Shaw et al. 2018, arXiv 1803.02155, section 3.2; clip 16).
//
//   score(i, j) = <q_i, k_j + rel_k[clamp(i - j, -16, 16) + 16]> / sqrt(D)
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %rel_k: tensor<33x?xf32> {pe.name = "rel_k", pe.axes = ["offset", "depth"],
                                               pe.init = "normal(0.02)"}) -> (!qkv {pe.name = "o"}) {
  %content = pe.content_fn(%rel_k : tensor<33x?xf32>) expr "rel_k[clamp(i - j, -16, 16) + 16, d]"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v content(%content) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
