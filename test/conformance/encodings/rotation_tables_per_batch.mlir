// Tables of cosines and sines per batch entry, for part of the dims.
!qkv = tensor<?x?x?x?xf32>
!table = tensor<?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %cos: !table {pe.name = "cos", pe.init = "normal(0.7)"},
                     %sin: !table {pe.name = "sin", pe.init = "normal(0.7)"})
    -> (!qkv {pe.name = "o"}) {
  %r = pe.rotation_table %cos, %sin {rotary_dims = 8} : !table, !table
  %m = pe.causal
  %o = pe.attention %q, %k, %v rotate(%r) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
