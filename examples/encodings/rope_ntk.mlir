// RoPE with a larger base ("NTK-aware"): the slowest pair rotates as if positions were divided by
// 4, the fastest as before.
//
//   angle of pair n at position p = p * b^(-2n / D),   b = 10000 * 4^(D / (D - 2))
//
// Peng et al. 2023, arXiv 2309.00071, Eq. 16.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotary {scaling = #pe.rope_scaling<ntk, factor = 4.0>}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%rotation) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
