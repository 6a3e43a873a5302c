// A value per key: b(i, j) = key_bias[batch, j], an argument of each call, shared by all heads.
//
// The tensor is data: its axes are the batch and the keys of the call, and j is a global position.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %key_bias: tensor<?x?xf32> {pe.name = "key_bias", pe.axes = ["batch", "key"]})
    -> (!qkv {pe.name = "o"}) {
  %b = pe.bias_fn(%key_bias : tensor<?x?xf32>) expr "key_bias[b, j]"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
