// An attention sink: a learned logit per head that is added to the softmax denominator and has no value.
//
//   A_ij = exp(z_ij) / (exp(sink_h) + sum over l of exp(z_il))
//
// A head can put weight on it instead of on keys. OpenAI 2025, arXiv 2508.10925 (section 2.1);
// Xiao et al. 2023, arXiv 2309.17453, for the name; no positional encoding.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv], sink [Hq] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %sink: tensor<?xf32> {pe.name = "sink", pe.init = 0.0})
    -> (!qkv {pe.name = "o"}) {
  %mask = pe.causal
  %o = pe.attention %q, %k, %v sink(%sink : tensor<?xf32>) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
