// T5's relative bias without a mask: 16 buckets for keys up to the query, 16 for keys after it.
//
//   b_h(i, j) = table[bucket(i - j), h]
//
// Raffel et al. 2020, arXiv 1910.10683, section 2.1 (the form of the encoder).
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %table: tensor<32x?xf32> {pe.name = "table", pe.init = "normal(0.02)"})
    -> (!qkv {pe.name = "o"}) {
  %bucket = pe.bucket {buckets = 32, max_distance = 128, bidirectional = true}
  %bias = pe.table %bucket, %table : tensor<32x?xf32>
  %o = pe.attention %q, %k, %v bias(%bias) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
