// A neighbourhood in an image of rows of 32 tokens: keys at most three rows and three columns away.
//
//   unmasked(i, j) = |i div 32 - j div 32| <= 3  and  |i mod 32 - j mod 32| <= 3
//
// Hassani et al. 2022, arXiv 2204.07143 (section 3.1), without moving the window at the borders. Such
// keys are less than 100 positions away; the mask states this so that kernels skip all others.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %mask = pe.mask_fn expr "abs(i - j) < 100 and abs(i // 32 - j // 32) <= 3 and abs(i % 32 - j % 32) <= 3"
  %o = pe.attention %q, %k, %v mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
