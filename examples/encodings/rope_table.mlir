// A rotation by cosines and sines that are arguments of the call, [positions, D/2].
//
//   x'_n = x_n cos[p, n] - x_{n + D/2} sin[p, n],   x'_{n + D/2} = x_{n + D/2} cos[p, n] + x_n sin[p, n]
//
// Row p is for position p: the tables need a row for every position up to the last one of the call.
// Both tensors have gradients.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %cos: tensor<?x?xf32> {pe.name = "cos"},
                     %sin: tensor<?x?xf32> {pe.name = "sin"}) -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotation_table %cos, %sin : tensor<?x?xf32>, tensor<?x?xf32>
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%rotation) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
