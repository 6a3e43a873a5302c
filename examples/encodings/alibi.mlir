// ALiBi: attention with linear biases.
//
//   b_h(i, j) = -m_h |i - j|,   m_h = 2^(-8 (h + 1) / H)   for heads h = 0 .. H-1
//
// Press, Smith, Lewis 2022, arXiv 2108.12409, section 3. The slopes are fixed; H is the number
// of heads of the model, so a call with a part of them gives the same results. `rule = #pe.slope_rule<interleaved>`
// gives the paper's slopes for H that is not a power of two.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %distance = pe.distance
  %bias = pe.linear %distance {factor = -1.0, rule = #pe.slope_rule<geometric>}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
