// All options of rotations: a learned base shared by all heads, few dims and adjacent pairs. The original
// lengths are shorter than the sequences of the case table.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %base: tensor<f32> {pe.name = "base", pe.init = 50.0})
    -> (!qkv {pe.name = "o"}) {
  %r = pe.rotary %base : tensor<f32> {rotary_dims = 6, interleaved = true,
      scaling = #pe.rope_scaling<dynamic_ntk, factor = 3.0, original_length = 50>}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%r) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
