// Inkling's layers without a window: the scale is 1 / D, because queries and keys are normalized, and
// queries far into the text multiply their scores and biases by a factor t_i (Thinking Machines, Inkling,
// 2026; transformers, models/inkling, the layers with `log_scaling_n_floor`).
//
//   score(i, j) = t_i (<q_i, k_j> / D + sum_c r_ic p[c, i - j])   for 0 <= i - j < 1024
//   t_i = 1 + 0.1 log(max(1, (i + 1) / 4096))
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv], r [B, Hq, Sq, 16] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>
!rows = tensor<?x?x?x16xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %r: !rows {pe.name = "r", pe.axes = ["batch", "head", "query", "rank"]},
                     %p: tensor<16x1024xf32> {pe.name = "p", pe.axes = ["rank", "distance"],
                                              pe.init = "normal(0.02)"}) -> (!qkv {pe.name = "o"}) {
  %score = pe.score_fn expr "s * (1 + 0.1 * log(max(1, (i + 1) / 4096)))"
  %factor = pe.factor_fn expr "1 + 0.1 * log(max(1, (i + 1) / 4096))"
  %content = pe.content_fn(%p : tensor<16x1024xf32>) times(%factor) extent(1024) expr "p[d, i - j]"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v content(%content) query(%r : !rows) score(%score) mask(%mask)
      {scale_by_depth} : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
