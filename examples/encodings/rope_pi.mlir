// RoPE with position interpolation: positions are divided by 4.
//
//   angle of pair n at position p = p / 4 * 10000^(-2n / D)
//
// Chen et al. 2023, arXiv 2306.15595, Eq. 4. A model trained with length L processes 4 L tokens
// at the angles of its training.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotary {scaling = #pe.rope_scaling<linear, factor = 4.0>}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%rotation) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
