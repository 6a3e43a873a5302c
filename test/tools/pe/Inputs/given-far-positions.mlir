// Given positions near a million: the bias is a value per query plus one per key, which nearly cancel.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %slope: tensor<?xf32> {pe.name = "slope", pe.init = "uniform(0,1)"},
                     %q_pos: tensor<?x?xi32> {pe.name = "q_pos", pe.init = "integers(1000000,1000256)"},
                     %k_pos: tensor<?x?xi32> {pe.name = "k_pos", pe.init = "integers(1000000,1000256)"})
    -> (!qkv {pe.name = "o"}) {
  %distance = pe.distance
  %bias = pe.linear %distance slope(%slope : tensor<?xf32>) {factor = -1.0}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias)
      positions(%q_pos, %k_pos : tensor<?x?xi32>, tensor<?x?xi32>) mask(%mask)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
