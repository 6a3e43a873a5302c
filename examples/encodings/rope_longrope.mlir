// LongRoPE: a factor divides the frequency of each pair, and calls beyond the original length use other factors.
//
//   angle of pair n at position p = p * 10000^(-2n / 8) / factor_n, for the first 8 dims
//   factor = short_factor if the keys end at 2048 or before, else long_factor
//
// Cosines and sines are multiplied by sqrt(1 + ln(4) / ln(2048)) for both lists. Ding et al. 2024, arXiv
// 2402.13753; selection and attention factor are those of transformers' modeling_rope_utils (Phi-3). A list
// has a factor for each rotated pair. A call must contain all keys of a sequence, because the factors depend
// on the end of the keys.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotary {rotary_dims = 8, scaling = #pe.rope_scaling<longrope, factor = 4.0,
      original_length = 2048, short_factor = [1.0, 1.05, 1.1, 1.25], long_factor = [1.0, 1.5, 2.75, 4.0]>}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%rotation) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
