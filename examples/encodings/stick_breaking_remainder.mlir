// Stick-breaking attention that assigns the remainder to the query's own value, so that weights sum to 1.
//
//   beta_ij = sigmoid(<q_i, k_j> / sqrt(D))
//   A_ij = beta_ij * prod_{j < l < i} (1 - beta_il)   over keys j < i
//   A_ii = prod_{l < i} (1 - beta_il)
//
// Tan et al. 2024, arXiv 2410.17980, section 3. Every query needs a key and a value at its own
// position.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %mask = pe.causal
  %o = pe.attention %q, %k, %v mask(%mask)
      {normalizer = #pe.normalizer<stick_breaking>, remainder = #pe.remainder<value>}
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
