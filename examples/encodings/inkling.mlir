// Inkling: a learned bias of the query and the distance, instead of a rotation. Every query has a
// vector r_i, a projection of its token, and all heads share a vector per distance; pairs that are
// `extent` or more keys apart have no bias (Thinking Machines, Inkling, 2026; transformers,
// models/inkling).
//
//   score(i, j) = <q_i, k_j> / sqrt(D) + sum_c r_ic p[c, i - j]   for 0 <= i - j < 1024
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
  %content = pe.content_fn(%p : tensor<16x1024xf32>) extent(1024) expr "p[d, i - j]"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v content(%content) query(%r : !rows) mask(%mask)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
