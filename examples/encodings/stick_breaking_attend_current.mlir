// Stick-breaking attention that begins at the query's own key.
//
//   beta_ij = sigmoid(<q_i, k_j> / sqrt(D))
//   A_ij = beta_ij * prod_{j < l <= i} (1 - beta_il)   over keys j <= i
//
// Tan et al. 2024, arXiv 2410.17980 (the option attend_current of its code). The remainder of the
// stick is dropped.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %mask = pe.causal
  %o = pe.attention %q, %k, %v mask(%mask)
      {normalizer = #pe.normalizer<stick_breaking>, attend_current}
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
