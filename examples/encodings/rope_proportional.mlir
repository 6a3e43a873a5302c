// Proportional RoPE: the first quarter of the pairs is rotated by the frequencies of the whole head.
//
//   angle of pair n at position p = p * 10000^(-2n / D)   for n < floor(D / 8), 0 for the other pairs
//
// The pairs are (n, n + D / 2), so that the rotated dims are at the beginning of both halves. Gemma 4's
// global layers; transformers' modeling_rope_utils (_compute_proportional_rope_parameters), where the share of
// the pairs is partial_rotary_factor and `factor` divides the frequencies.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotary
      {scaling = #pe.rope_scaling<proportional, factor = 1.0, partial_rotary_factor = 0.25>}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%rotation) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
