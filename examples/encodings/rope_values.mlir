// RoPE on queries, keys and values: an output is the sum of values rotated by their distance.
//
//   s_ij = <R_i q_i, R_j k_j> / sqrt(D)        o_i = R_i^T sum_j A_ij R_j v_j = sum_j A_ij R_{j-i} v_j
//
// R_p is the rotation of rope for heads of D dims, and of Dv dims for the values. DeepSeek-V4 rotates its
// values and outputs in this way (transformers' modeling_deepseek_v4).
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotary {base = 10000.0}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%rotation) rotate_values(%rotation) mask(%mask)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
