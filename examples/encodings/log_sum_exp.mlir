// Causal attention that also returns the log-sum-exp of every row.
//
//   lse_i = log sum_j exp(<q_i, k_j> / sqrt(D))   over unmasked j (-inf for a row without keys)
//
// With it, results over disjoint sets of keys can be merged exactly (Dao et al. 2022, arXiv
// 2205.14135). lse is [B, Hq, Sq].
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}, tensor<?x?x?xf32> {pe.name = "lse"}) {
  %mask = pe.causal
  %o, %lse = pe.attention %q, %k, %v mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv, tensor<?x?x?xf32>
  return %o, %lse : !qkv, tensor<?x?x?xf32>
}
