// Transformer-XL: the query plus a learned vector is multiplied with sinusoids of the distance, and the
// query plus another learned vector with the key (Dai et al. 2019, arXiv 1901.02860, section 3.3, without
// its matrix W_kR, which transformer_xl_projected has).
//
//   score(i, j) = (<q_i + u_h, k_j> + <q_i + v_h, R(i - j)>) / sqrt(D)
//   R(t)[2n] = sin(t w_n),  R(t)[2n + 1] = cos(t w_n),  w_n = 10000^(-2n / D)
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>
!vectors = tensor<?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %u: !vectors {pe.name = "u", pe.axes = ["head", "depth"], pe.init = "normal(0.02)"},
                     %v_bias: !vectors {pe.name = "v_bias", pe.axes = ["head", "depth"],
                                        pe.init = "normal(0.02)"}) -> (!qkv {pe.name = "o"}) {
  %shift = pe.query_shift %u : !vectors
  %content = pe.content_fn shift(%v_bias : !vectors)
      expr "let w = 10000 ^ (-2 * (d // 2) / dim) in select(d % 2 == 0, sin((i - j) * w), cos((i - j) * w))"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v prologue(%shift) content(%content) mask(%mask)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
