// longrope with an original length within the sequences of the case table, a learned base and a given factor.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %base: tensor<f32> {pe.name = "base", pe.init = 50.0}) -> (!qkv {pe.name = "o"}) {
  %r = pe.rotary %base : tensor<f32> {rotary_dims = 6, trailing = true, interleaved = true,
      scaling = #pe.rope_scaling<longrope, factor = 3.0, original_length = 60, short_factor = [1.0, 1.25, 1.25],
                                 long_factor = [1.0, 2.0, 5.5], attention_factor = 1.25>}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%r) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
