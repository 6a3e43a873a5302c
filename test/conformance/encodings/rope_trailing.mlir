// The last dims of a head are rotated, of queries and keys by a formula and of values by a fixed base.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %slope: tensor<f32> {pe.name = "slope", pe.init = 0.5}) -> (!qkv {pe.name = "o"}) {
  %r = pe.rotation_fn(%slope : tensor<f32>) attributes {rotary_dims = 4, trailing = true}
      expr "100 ^ (-p / n) * slope"
  %s = pe.rotary {rotary_dims = 6, trailing = true, interleaved = true}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%r) rotate_values(%s) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
