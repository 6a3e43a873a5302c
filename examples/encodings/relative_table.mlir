// A learned value per head and clipped relative position:
//
//   b_h(i, j) = table[clamp(i - j, -128, 128) + 128, h]
//
// The additive form of clipped relative positions (Shaw et al. 2018, arXiv 1803.02155, section 3.2,
// clip the distance of keys likewise).
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %table: tensor<257x?xf32> {pe.name = "table", pe.init = "normal(0.02)"})
    -> (!qkv {pe.name = "o"}) {
  %bias = pe.bias_fn(%table : tensor<257x?xf32>) expr "table[clamp(i - j, -128, 128) + 128, h]"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
