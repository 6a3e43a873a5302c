// Kerple, the logarithmic kernel.
//
//   b_h(i, j) = -r1_h log(1 + r2_h |i - j|),   r1, r2 > 0
//
// Chi et al. 2022, arXiv 2205.09921 (as in arXiv 2310.04418, section 2.2). A linear function of a
// log distance.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %r1: tensor<?xf32> {pe.name = "r1", pe.init = "uniform(0,2)", pe.min = 0.01,
                                         pe.decay = false},
                     %r2: tensor<?xf32> {pe.name = "r2", pe.init = "uniform(0,1)", pe.min = 0.01,
                                         pe.decay = false}) -> (!qkv {pe.name = "o"}) {
  %distance = pe.log_distance c(%r2 : tensor<?xf32>)
  %bias = pe.linear %distance slope(%r1 : tensor<?xf32>) {factor = -1.0}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
