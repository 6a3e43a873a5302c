// Stick-breaking attention: each query breaks pieces off a stick, starting from its nearest key.
//
//   beta_ij = sigmoid(<q_i, k_j> / sqrt(D))
//   A_ij = beta_ij * prod_{j < l < i} (1 - beta_il)   over keys j < i
//
// Tan et al. 2024, arXiv 2410.17980. It prefers recent keys, so there is no positional encoding.
// A query does not attend to its own key, and the remainder of the stick is dropped. The causal mask
// defines the order.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %mask = pe.causal
  %o = pe.attention %q, %k, %v mask(%mask)
      {normalizer = #pe.normalizer<stick_breaking>}
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
