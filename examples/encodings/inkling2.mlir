// Inkling with a sink that depends on the query, a given logit without a value, and a window of 1024 keys
// (Inkling2, 2026: NVIDIA NeMo, modeling_inkling2).
//
//   A_ij = exp(z_ij) / (exp(sink_i) + sum over l of exp(z_il))
//   z_ij = <q_i, k_j> / sqrt(D) + sum_c r_ic p[c, i - j]   for 0 <= i - j < 1024
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv], r [B, Hq, Sq, 16], sink [B, Hq, Sq]
//   -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>
!rows = tensor<?x?x?x16xf32>
!sinks = tensor<?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %r: !rows {pe.name = "r", pe.axes = ["batch", "head", "query", "rank"]},
                     %p: tensor<16x1024xf32> {pe.name = "p", pe.axes = ["rank", "distance"],
                                              pe.init = "normal(0.02)"},
                     %sink: !sinks {pe.name = "sink", pe.axes = ["batch", "head", "query"]})
    -> (!qkv {pe.name = "o"}) {
  %content = pe.content_fn(%p : tensor<16x1024xf32>) extent(1024) expr "p[d, i - j]"
  %of_query = pe.sink_fn(%sink : !sinks) expr "sink[b, h, i]"
  %causal = pe.causal
  %window = pe.sliding_window {left = 1024}
  %mask = pe.mask_and %causal, %window
  %o = pe.attention %q, %k, %v content(%content) query(%r : !rows) sink(%of_query) mask(%mask)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
