// Two attentions of one function, each with its own tensors and mask.
!qkv = tensor<?x?x?x?xf32>
func.func @two(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
               %q2: !qkv {pe.name = "q2"}, %k2: !qkv {pe.name = "k2"}, %v2: !qkv {pe.name = "v2"})
    -> (!qkv {pe.name = "o"}, !qkv {pe.name = "o2"}) {
  %mask = pe.causal
  %o = pe.attention %q, %k, %v mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  %o2 = pe.attention %q2, %k2, %v2 : (!qkv, !qkv, !qkv) -> !qkv
  return %o, %o2 : !qkv, !qkv
}
