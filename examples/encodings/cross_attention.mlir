// Attention from the tokens of one sequence to the tokens of another; nothing depends on positions.
//
//   o_i = sum_j softmax_j(<q_i, k_j> / sqrt(D)) v_j   over all keys
//
// Vaswani et al. 2017, arXiv 1706.03762, section 3.2.3. Queries and keys can have any lengths: in
// a function that reads no position, no row is at a negative position.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %o = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
