// A prefix language model: queries attend to all keys of the prefix, and to keys up to themselves.
//
//   unmasked(i, j) = j <= i  or  j < prefix[b]
//
// Raffel et al. 2020, arXiv 1910.10683 (section 3.2.1); no positional encoding.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv], prefix [B] i32 -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %prefix: tensor<?xi32> {pe.name = "prefix", pe.axes = ["batch"],
                                             pe.init = "integers(0,64)"})
    -> (!qkv {pe.name = "o"}) {
  %mask = pe.mask_fn(%prefix : tensor<?xi32>) expr "j <= i or j < prefix[b]"
  %o = pe.attention %q, %k, %v mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
