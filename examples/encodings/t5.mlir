// T5's relative bias: one learned value per head and bucket of the distance.
//
//   b_h(i, j) = table[bucket(i - j), h]
//
// Each distance below 16 has its own bucket; the other 16 buckets grow logarithmically up to distance
// 128, and the last one has all larger distances (Raffel et al. 2020, arXiv 1910.10683, section 2.1;
// the formula of the buckets is in docs/encodings/distance.md).
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %table: tensor<32x?xf32> {pe.name = "table", pe.init = "normal(0.02)"})
    -> (!qkv {pe.name = "o"}) {
  %bucket = pe.bucket {buckets = 32, max_distance = 128}
  %bias = pe.table %bucket, %table : tensor<32x?xf32>
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
