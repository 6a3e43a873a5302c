// Inkling's layers with a sliding window of 512 keys, which is also the extent of the learned bias
// (Thinking Machines, Inkling, 2026; transformers, models/inkling, the layers `hybrid_sliding`, where the
// scale is 1 / D: add `scale_by_depth`).
//
//   score(i, j) = <q_i, k_j> / sqrt(D) + sum_c r_ic p[c, i - j]   for 0 <= i - j < 512
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv], r [B, Hq, Sq, 16] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>
!rows = tensor<?x?x?x16xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %r: !rows {pe.name = "r", pe.axes = ["batch", "head", "query", "rank"]},
                     %p: tensor<16x512xf32> {pe.name = "p", pe.axes = ["rank", "distance"],
                                             pe.init = "normal(0.02)"}) -> (!qkv {pe.name = "o"}) {
  %content = pe.content_fn(%p : tensor<16x512xf32>) extent(512) expr "p[d, i - j]"
  %causal = pe.causal
  %window = pe.sliding_window {left = 512}
  %mask = pe.mask_and %causal, %window
  %o = pe.attention %q, %k, %v content(%content) query(%r : !rows) mask(%mask)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
