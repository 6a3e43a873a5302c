// A causal sliding window: each query attends to itself and the 127 keys before it.
//
//   unmasked(i, j) = j <= i  and  i - j < 128
//
// Beltagy et al. 2020, arXiv 2004.05150 (one-sided); no positional encoding.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %causal = pe.causal
  %window = pe.sliding_window {left = 128}
  %mask = pe.mask_and %causal, %window
  %o = pe.attention %q, %k, %v mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
