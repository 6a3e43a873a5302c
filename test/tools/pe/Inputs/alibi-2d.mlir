// ALiBi over the tokens of a 14 x 14 image, in row-major order.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %slopes: tensor<?xf32> {pe.name = "slopes", pe.init = "slopes(geometric)"})
    -> (!qkv {pe.name = "o"}) {
  %b = pe.bias_fn(%slopes : tensor<?xf32>)
      expr "-slopes[h] * (abs(i // 14 - j // 14) + abs(i % 14 - j % 14))"
  %o = pe.attention %q, %k, %v bias(%b) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
