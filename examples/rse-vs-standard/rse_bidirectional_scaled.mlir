// RSE in both directions, with the positions of the rotation divided by 4.
//
//   z_ij = <R_(i/4) q_i, R_(j/4) k_j> / sqrt(D) - decay_h |i - j|,   otherwise as rse_bidirectional
//
// --attr='scaling=#pe.rope_scaling<linear, factor = 2.0>' selects another factor.
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
  %rotation = pe.rotary {scaling = #pe.rope_scaling<linear, factor = 4.0>}
  %o = pe.attention %q, %k, %v bias(%bias) rotate(%rotation)
      {normalizer = #pe.normalizer<stick_breaking>, direction = #pe.direction<both>}
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
