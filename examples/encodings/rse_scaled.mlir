// RSE with YaRN frequencies: rotary stick-breaking attention for sequences 4 times as long.
//
//   z_ij = <R_i q_i, R_j k_j> / sqrt(D) - decay_h (i - j)
//   A_ij = sigmoid(z_ij) * prod_{j < l < i} (1 - sigmoid(z_il))   over keys j < i
//
// R is RoPE with base 10000 and the frequencies and factor of rope_yarn. The decay is learned per head.
// Stick-breaking is not shift-invariant: the bias must use the exact i - j, without dropping constants
// (docs/encodings/stick-breaking.md).
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %decay: tensor<?xf32> {pe.name = "decay", pe.init = 0.01, pe.decay = false})
    -> (!qkv {pe.name = "o"}) {
  %difference = pe.relative
  %bias = pe.linear %difference slope(%decay : tensor<?xf32>) {factor = -1.0}
  %rotation = pe.rotary {scaling = #pe.rope_scaling<yarn, factor = 4.0, original_length = 2048>}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) rotate(%rotation) mask(%mask)
      {normalizer = #pe.normalizer<stick_breaking>}
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
