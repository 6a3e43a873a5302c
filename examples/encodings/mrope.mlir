// M-RoPE: a token has several positions (time, height, width), and each pair of dims is rotated by one of them.
//
//   angle of pair f of D/2 = positions[a_f, b, i] * 10000^(-2f / D)
//   a_f = 0 for f < 12/32 of D/2, 1 for the next 10/32, otherwise 2
//
// Wang et al. 2024, arXiv 2409.12191 (Qwen2-VL), section 2.1; with sections 16, 24, 24 of its 64 pairs instead.
// The mask is causal by the place of a token, whatever its positions. Text has equal positions on all axes;
// then this is rope.
//
// q [B, Hq, S, D], k [B, Hkv, S, D], v [B, Hkv, S, Dv], positions [3, B, S] -> o [B, Hq, S, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %positions: tensor<3x?x?xi32> {pe.name = "positions", pe.init = "integers(0,256)"})
    -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotary positions(%positions : tensor<3x?x?xi32>) {sections = [12, 10, 10], sections_of = 32}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%rotation) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
