// An attention span of eight positions: the bias is -inf beyond it.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %b = pe.bias_fn expr "log(clamp((8 - (i - j)) / 8, 0, 1))"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
