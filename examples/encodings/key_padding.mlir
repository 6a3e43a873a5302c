// Keys after the end of a sequence are padding and are masked.
//
//   unmasked(i, j) = j <= i  and  j < kv_len[b]
//
// kv_len [B] i32 is the number of keys of every batch entry, counted in positions.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %kv_len: tensor<?xi32> {pe.name = "kv_len", pe.axes = ["batch"],
                                             pe.init = "integers(1,128)"})
    -> (!qkv {pe.name = "o"}) {
  %causal = pe.causal
  %valid = pe.mask_fn(%kv_len : tensor<?xi32>) expr "j < kv_len[b]"
  %mask = pe.mask_and %causal, %valid
  %o = pe.attention %q, %k, %v mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
