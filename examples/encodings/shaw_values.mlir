// Relative position representations of keys and values: a learned vector per clipped distance,
// multiplied with the query, and another added to the value (Shaw et al. 2018, arXiv 1803.02155,
// section 3.2, equations 3 and 4; clip 16).
//
//   score(i, j) = <q_i, k_j + rel_k[clamp(i - j, -16, 16) + 16]> / sqrt(D)
//   o_i = sum_j A_ij (v_j + rel_v[clamp(i - j, -16, 16) + 16])
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>
!table = tensor<33x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %rel_k: !table {pe.name = "rel_k", pe.axes = ["offset", "depth"],
                                     pe.init = "normal(0.02)"},
                     %rel_v: !table {pe.name = "rel_v", pe.axes = ["offset", "value_depth"],
                                     pe.init = "normal(0.02)"}) -> (!qkv {pe.name = "o"}) {
  %content = pe.content_fn(%rel_k : !table) expr "rel_k[clamp(i - j, -16, 16) + 16, d]"
  %values = pe.content_fn(%rel_v : !table) expr "rel_v[clamp(i - j, -16, 16) + 16, d]"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v content(%content) value_content(%values) mask(%mask)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
