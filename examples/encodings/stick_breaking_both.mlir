// Stick-breaking attention to both sides: the mean of one pass over the keys before a query and one
// over those after it, each breaking pieces off a stick of its own, from the nearest key on.
//
//   beta_ij = sigmoid(<q_i, k_j> / sqrt(D))
//   A_ij = beta_ij / 2 * prod_{l between j and i} (1 - beta_il)   over keys j != i
//
// After Tan et al. 2024, arXiv 2410.17980, whose product is defined for earlier keys alone. There is no
// causal mask; a query does not see its own key, and what remains of both sticks is dropped.
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
