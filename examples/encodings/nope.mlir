// NoPE: causal attention without any positional encoding.
//
//   b(i, j) = 0
//
// Only the causal mask distinguishes positions (Kazemnejad et al. 2023, arXiv 2305.19466).
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %mask = pe.causal
  %o = pe.attention %q, %k, %v mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
