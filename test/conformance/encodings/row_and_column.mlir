// Row and column terms of a learned parameter that nearly cancel; the log-sum-exp has a cotangent.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %a: tensor<?xf32> {pe.name = "a", pe.init = 0.1})
    -> (!qkv {pe.name = "o"}, tensor<?x?x?xf32> {pe.name = "lse"}) {
  %b = pe.bias_fn(%a : tensor<?xf32>)
         expr "a[h] * sqrt((1.0 * j)^2 + 1.0) - a[h] * sqrt((1.0 * i)^2 + 1.0)"
  %mask = pe.causal
  %o, %lse = pe.attention %q, %k, %v bias(%b) mask(%mask)
      : (!qkv, !qkv, !qkv) -> !qkv, tensor<?x?x?xf32>
  return %o, %lse : !qkv, tensor<?x?x?xf32>
}
