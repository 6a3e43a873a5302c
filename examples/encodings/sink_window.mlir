// A window of 128 keys and the first four keys, which are attention sinks by position.
//
//   unmasked(i, j) = j <= i  and  (j < 4  or  i - j < 128)
//
// Xiao et al. 2023, arXiv 2309.17453 (section 3.2).
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %mask = pe.mask_fn expr "j <= i and (j < 4 or i - j < 128)"
  %o = pe.attention %q, %k, %v mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
