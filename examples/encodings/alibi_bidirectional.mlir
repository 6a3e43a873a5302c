// ALiBi without a mask: queries attend to keys on both sides.
//
//   b_h(i, j) = -m_h |i - j|,   m_h = 2^(-8 (h + 1) / H)
//
// Press, Smith, Lewis 2022, arXiv 2108.12409, section 3, with the distance on both sides.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %distance = pe.distance
  %bias = pe.linear %distance {factor = -1.0, rule = #pe.slope_rule<geometric>}
  %o = pe.attention %q, %k, %v bias(%bias) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
