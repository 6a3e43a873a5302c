// A bias that is neither a function of the distance nor a sum of a value per query and one per key.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %b = pe.bias_fn expr "cos(0.1 * i * j)"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
