// Explicit positions of queries and keys, read by ALiBi, a rotation and a causal mask.
//
//   i = q_pos[b, row],  j = k_pos[b, column]
//   unmasked = j <= i
//   b_h(i, j) = -2^(-8 (h + 1) / H) (i - j)
//
// Positions are integers from 0 to 2^30 - 1, in any order. Tensors over tokens are still indexed by row
// and column. Because i - j does not follow from row and column, the bias becomes one value per row plus
// one per column, and the mask is evaluated for every pair.
//
// q_pos [B, Sq] i32, k_pos [B, Sk] i32
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %slope: tensor<?xf32> {pe.name = "slope", pe.init = "slopes(geometric)"},
                     %q_pos: tensor<?x?xi32> {pe.name = "q_pos", pe.init = "integers(0,256)"},
                     %k_pos: tensor<?x?xi32> {pe.name = "k_pos", pe.init = "integers(0,256)"})
    -> (!qkv {pe.name = "o"}) {
  %distance = pe.distance
  %bias = pe.linear %distance slope(%slope : tensor<?xf32>) {factor = -1.0}
  %rotation = pe.rotary
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) rotate(%rotation)
      positions(%q_pos, %k_pos : tensor<?x?xi32>, tensor<?x?xi32>) mask(%mask)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
