// A learned frequency per head and pair that depends on i32 data, without a mask.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %w: tensor<?x?xf32> {pe.name = "w", pe.init = "uniform(-0.3,0.3)"},
                     %half: tensor<?xi32> {pe.name = "half", pe.init = "integers(0,2)"})
    -> (!qkv {pe.name = "o"}) {
  %r = pe.rotation_fn(%w, %half : tensor<?x?xf32>, tensor<?xi32>)
       expr "tanh(w[h, p]) * select(half[p] == 1, 0.5, 1)"
  %o = pe.attention %q, %k, %v rotate(%r) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
