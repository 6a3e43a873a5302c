// YaRN: pairs that turn often within the original length are unchanged, slow pairs are interpolated.
//
//   frequency = (1 - g) f / 4 + g f,   f = 10000^(-2n / D)
//   g = 1 for pairs that turn more than 32 times in 2048 positions, 0 for less than once, linear in n between
//
// Queries and keys are also multiplied by 0.1 ln(4) + 1. Peng et al. 2023, arXiv 2309.00071,
// section 3.2 and Eq. 22.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotary {scaling = #pe.rope_scaling<yarn, factor = 4.0, original_length = 2048>}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%rotation) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
