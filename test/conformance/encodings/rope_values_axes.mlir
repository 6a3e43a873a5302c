// Values and outputs rotated by positions by axis, which restart the frequencies; a factor of a row and a magnitude.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %gate: tensor<?x?x?xf32> {pe.name = "gate", pe.axes = ["batch", "head", "query"]},
                     %qp: tensor<3x?x?xi32> {pe.name = "qp", pe.init = "integers(0,300)"},
                     %kp: tensor<3x?x?xi32> {pe.name = "kp", pe.init = "integers(0,300)"}) -> (!qkv {pe.name = "o"}) {
  %r = pe.rotation_fn attributes {magnitude = 1.25} expr "100 ^ (-p / n)"
  %s = pe.rotary positions(%qp, %kp : tensor<3x?x?xi32>, tensor<3x?x?xi32>)
      {sections = [3, 2, 3], sections_of = 8, restart = true, base = 100.0}
  %f = pe.factor_fn(%gate : tensor<?x?x?xf32>) expr "sigmoid(gate[b, h, i])"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%r) rotate_values(%s) factor(%f) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
