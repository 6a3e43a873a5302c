// Positions of queries and of keys by axis, a scaling, and a bias that counts rows.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %qp: tensor<3x?x?xi32> {pe.name = "qp", pe.init = "integers(0,300)"},
                     %kp: tensor<3x?x?xi32> {pe.name = "kp", pe.init = "integers(0,300)"}) -> (!qkv {pe.name = "o"}) {
  %r = pe.rotary positions(%qp, %kp : tensor<3x?x?xi32>, tensor<3x?x?xi32>)
      {sections = [3, 2, 3], sections_of = 8, alternating = true, interleaved = true, base = 100.0,
       scaling = #pe.rope_scaling<yarn, factor = 4.0, original_length = 200>}
  %d = pe.distance
  %b = pe.linear %d {factor = -1.0, rule = #pe.slope_rule<geometric>}
  %o = pe.attention %q, %k, %v bias(%b) rotate(%r) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
