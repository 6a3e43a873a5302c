// Sigmoid attention: the weight of a key does not depend on the other keys.
//
//   A_ij = sigmoid(<q_i, k_j> / sqrt(D) + offset)
//
// Ramapuram et al. 2024, arXiv 2409.04431. Rows do not sum to 1, so the offset, about -log of the
// number of keys, keeps outputs small at the start of training. It is a bias like any other; an
// offset per head is a tensor [H] read at h. There is no positional encoding.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv], offset [] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %offset: tensor<f32> {pe.name = "offset", pe.init = -7.0})
    -> (!qkv {pe.name = "o"}) {
  %shift = pe.bias_fn(%offset : tensor<f32>) expr "offset"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%shift) mask(%mask)
      {normalizer = #pe.normalizer<sigmoid>}
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
