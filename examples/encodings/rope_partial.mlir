// RoPE on the first 8 dims of every head; the others are not rotated.
//
//   angle of pair n at position p = p * 10000^(-2n / 8),   n = 0 ... 3
//
// Black et al. 2022, arXiv 2204.06745, section 2.1.1 (with a quarter of the dims).
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotary {base = 10000.0, rotary_dims = 8}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%rotation) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
