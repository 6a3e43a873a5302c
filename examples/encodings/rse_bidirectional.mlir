// RSE in both directions: rotary stick-breaking attention with an exponential decay, as the mean of one
// pass over the keys before a query and one over the keys after it.
//
//   z_ij = <R_i q_i, R_j k_j> / sqrt(D) - decay_h |i - j|
//   A_ij = sigmoid(z_ij) / 2 * prod_{l between j and i} (1 - sigmoid(z_il))   over keys j != i
//
// R is RoPE with base 10000. The source drops the causal mask for encoders, but its product is undefined
// for later keys (docs/encodings/stick-breaking.md); this form replaces it.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %decay: tensor<?xf32> {pe.name = "decay", pe.init = 0.01, pe.decay = false})
    -> (!qkv {pe.name = "o"}) {
  %distance = pe.distance
  %bias = pe.linear %distance slope(%decay : tensor<?xf32>) {factor = -1.0}
  %rotation = pe.rotary {base = 10000.0}
  %o = pe.attention %q, %k, %v bias(%bias) rotate(%rotation)
      {normalizer = #pe.normalizer<stick_breaking>, direction = #pe.direction<both>}
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
