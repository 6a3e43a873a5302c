// The scaling of Llama 3.1: low frequencies are divided by 8, high ones are kept, with a smooth transition.
//
//   frequency = (1 - g) f / 8 + g f,   f = 10000^(-2n / D),   t = 8192 f / (2 pi)
//   g = clamp((t - 1) / (4 - 1), 0, 1),   where t is the number of turns in the original length
//
// Grattafiori et al. 2024, arXiv 2407.21783, section 3.4.2; the formula follows the published model
// code (which has base 500000).
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotary
      {scaling = #pe.rope_scaling<llama3, factor = 8.0, original_length = 8192, low = 1.0, high = 4.0>}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%rotation) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
