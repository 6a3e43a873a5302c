// RoPE on adjacent pairs, as in the paper.
//
//   score(i, j) = <R_i q_i, R_j k_j> / sqrt(D)
//
// R_p rotates the pair (x_{2n}, x_{2n+1}) by the angle p * 10000^(-2n / D) (Su et al. 2021, arXiv
// 2104.09864, Eq. 15). It equals rope.mlir after a permutation of the head dims.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotary {base = 10000.0, interleaved = true}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%rotation) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
