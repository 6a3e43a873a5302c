// Sandwich: the inner product of two sinusoidal embeddings, scaled per head.
//
//   b_h(i, j) = r1_h * sum_{k = 1 .. 64} cos((i - j) / 10000^(k / 64))
//
// Chi et al. 2023, arXiv 2212.10356, in the form of Li et al. 2023, arXiv 2310.04418, App. A.2.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %r1: tensor<?xf32> {pe.name = "r1", pe.init = 1.0, pe.decay = false})
    -> (!qkv {pe.name = "o"}) {
  %difference = pe.relative
  %bias = pe.cosine_sum %difference amplitude(%r1 : tensor<?xf32>) {terms = 64, base = 10000.0}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
