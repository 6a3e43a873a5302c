// A learned base per head with a smooth frequency scaling that contributes to the base's gradient, without
// a mask.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %base: tensor<?xf32> {pe.name = "base", pe.init = 100.0})
    -> (!qkv {pe.name = "o"}) {
  %r = pe.rotary %base : tensor<?xf32>
      {scaling = #pe.rope_scaling<llama3, factor = 2.0, original_length = 64, low = 1, high = 8>}
  %o = pe.attention %q, %k, %v rotate(%r) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
