// Softpick attention: a softmax whose weights can be exactly 0, without an attention sink.
//
//   A_ij = max(exp(s_ij) - 1, 0) / sum over l of |exp(s_il) - 1|,  s_ij = <q_i, k_j> / sqrt(D)
//
// Zuhri et al. 2025, arXiv 2504.20966. Keys with s <= 0 have no weight, and a row whose sum is 0 has
// o = 0. There is no positional encoding.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %mask = pe.causal
  %o = pe.attention %q, %k, %v mask(%mask)
      {normalizer = #pe.normalizer<softpick>}
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
