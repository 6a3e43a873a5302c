// RoPE with a learned base per head and frequencies given by a formula.
//
//   angle of pair p of n = D / 2 at position i in head h = i * base[h]^(-p / n)
//
// Equals rope_per_head. Requires as many key heads as query heads.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %base: tensor<?xf32> {pe.name = "base", pe.init = 10000.0, pe.min = 2.0,
                                           pe.decay = false}) -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotation_fn(%base : tensor<?xf32>) expr "base[h] ^ (-p / n)"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%rotation) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
