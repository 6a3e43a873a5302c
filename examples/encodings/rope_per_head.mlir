// RoPE with a learned base per head.
//
//   angle of pair n at position p in head h = p * base[h]^(-2n / D)
//
// Requires as many key heads as query heads.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %base: tensor<?xf32> {pe.name = "base", pe.init = 10000.0, pe.min = 2.0,
                                           pe.decay = false}) -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotary %base : tensor<?xf32>
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%rotation) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
