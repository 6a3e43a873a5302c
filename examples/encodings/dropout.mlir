// Dropout on the probabilities of causal attention, p = 0.1: kept ones are scaled by 1 / (1 - p).
//
//   o_i = sum over j of A_ij m_ij / (1 - p) v_j,   m_ij = 1 if word(i, j) >= p 2^32, else 0
//
// The word is output j mod 4 of Philox 4x32-10 (Salmon et al. 2011) with the seed as its key and the
// counter (b, h, i, j div 4) of global positions, so shards and the backward pass draw the same mask.
// Srivastava et al. 2014 (JMLR 15), Vaswani et al. 2017, arXiv 1706.03762; no positional encoding.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv], seed [] i64 -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %seed: tensor<i64> {pe.name = "seed"}) -> (!qkv {pe.name = "o"}) {
  %mask = pe.causal
  %o = pe.attention %q, %k, %v dropout(0.1, %seed : tensor<i64>) mask(%mask)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
