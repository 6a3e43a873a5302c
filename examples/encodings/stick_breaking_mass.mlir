// Stick-breaking attention that also returns the logarithm of the remaining mass.
//
//   beta_ij = sigmoid(<q_i, k_j> / sqrt(D))
//   A_ij = beta_ij * prod_{j < l < i} (1 - beta_il),  log_mass_i = sum_{l < i} log(1 - beta_il)
//
// Tan et al. 2024, arXiv 2410.17980. The second result is also differentiable. It is used to merge
// calls on near and far keys (merge_stick_breaking.mlir): o = o_near + exp(log_mass_near) o_far.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv], log_mass [B, Hq, Sq]
!qkv = tensor<?x?x?x?xf32>
!rows = tensor<?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}, !rows {pe.name = "log_mass"}) {
  %mask = pe.causal
  %o, %log_mass = pe.attention %q, %k, %v mask(%mask)
      {normalizer = #pe.normalizer<stick_breaking>}
      : (!qkv, !qkv, !qkv) -> !qkv, !rows
  return %o, %log_mass : !qkv, !rows
}
