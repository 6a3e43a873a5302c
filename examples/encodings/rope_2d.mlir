// 2-D RoPE: half of the pairs is rotated by the row of a token, the other half by its column.
//
//   angle of pair f = positions[0, b, i] * 10000^(-4f / D)            for f < D/4
//   angle of pair D/4 + f = positions[1, b, i] * 10000^(-4f / D)      the same frequencies
//
// The pairs are (f, f + D/2). Axial rotations of vision transformers: Heo et al. 2024, arXiv 2403.13298,
// section 3.2; pairing and frequencies are those of Qwen2-VL's vision tower. Causal by the place of a token.
//
// q [B, Hq, S, D], k [B, Hkv, S, D], v [B, Hkv, S, Dv], positions [2, B, S] -> o [B, Hq, S, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %positions: tensor<2x?x?xi32> {pe.name = "positions", pe.init = "integers(0,256)"})
    -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotary positions(%positions : tensor<2x?x?xi32>)
      {sections = [1, 1], sections_of = 2, restart = true}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%rotation) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
