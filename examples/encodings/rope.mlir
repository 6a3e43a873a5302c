// RoPE: rotary position embedding.
//
//   score(i, j) = <R_i q_i, R_j k_j> / sqrt(D)
//
// R_p rotates the pair (x_n, x_{n + D/2}) by the angle p * 10000^(-2n / D), so scores depend only
// on i - j (Su et al. 2021, arXiv 2104.09864, Eq. 15 and 34). The head dim must be even.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotary {base = 10000.0}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%rotation) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
