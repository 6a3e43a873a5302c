// A custom mask, a dilated window: a query attends to every fourth key of the last 512.
//
//   unmasked(i, j) = 0 <= i - j < 512  and  (i - j) mod 4 = 0
//
// Beltagy et al. 2020, arXiv 2004.05150 (section 3.1).
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %mask = pe.mask_fn expr "j <= i and i - j < 512 and (i - j) % 4 == 0"
  %o = pe.attention %q, %k, %v mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
