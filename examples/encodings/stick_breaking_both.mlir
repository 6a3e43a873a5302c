// Stick-breaking attention in both directions: the mean of one pass over the keys before a query and one
// over the keys after it, each with its own stick, starting from the nearest key.
//
//   beta_ij = sigmoid(<q_i, k_j> / sqrt(D))
//   A_ij = beta_ij / 2 * prod_{l between j and i} (1 - beta_il)   over keys j != i
//
// After Tan et al. 2024, arXiv 2410.17980, whose product is defined only for earlier keys. There is no
// causal mask; a query does not attend to its own key, and the remainders of both sticks are dropped.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %o = pe.attention %q, %k, %v
      {normalizer = #pe.normalizer<stick_breaking>, direction = #pe.direction<both>}
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
