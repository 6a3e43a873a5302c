// Music Transformer: a learned vector for every distance, multiplied with the query (Huang et al. 2018,
// arXiv 1809.04281, section 3.4; causal, because their "skewing" requires it). The last row of the table
// is distance 0, so a sequence has at most 2048 positions.
//
//   score(i, j) = <q_i, k_j + er[2047 - (i - j)]> / sqrt(D)
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %er: tensor<2048x?xf32> {pe.name = "er", pe.axes = ["offset", "depth"],
                                              pe.init = "normal(1)"}) -> (!qkv {pe.name = "o"}) {
  %content = pe.content_fn(%er : tensor<2048x?xf32>) expr "er[2047 - (i - j), d]"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v content(%content) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
