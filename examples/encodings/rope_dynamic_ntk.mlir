// RoPE whose base grows with the length of the call beyond the original length.
//
//   angle of pair n at position p = p * b^(-2n / D)
//   b = 10000 * s^(D / (D - 2)),   s = 4 max(L, 2048) / 2048 - 3,   where L is the end of the keys
//
// Peng et al. 2023, arXiv 2309.00071, section 3.3 (dynamic scaling); the stretch s is that of common
// implementations, which with factor 1 is the paper's max(1, L / 2048). A call must contain all keys of
// a sequence, because the base depends on the end of the keys.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotary {scaling = #pe.rope_scaling<dynamic_ntk, factor = 4.0, original_length = 2048>}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%rotation) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
