// Interleaved M-RoPE: the axes of a token's positions take turns, so that each axis has high and low frequencies.
//
//   angle of pair f of n = D/2 = positions[a_f, b, i] * 10000^(-2f / D)
//   a_f = 1 if f mod 3 = 1 and f < 3 * 20/64 n, 2 if f mod 3 = 2 and f < 3 * 20/64 n, otherwise 0
//
// Qwen3-VL; transformers' modeling_qwen3_vl (apply_interleaved_mrope), sections 24, 20, 20 of 64 pairs. The
// mask is causal by the place of a token.
//
// q [B, Hq, S, D], k [B, Hkv, S, D], v [B, Hkv, S, Dv], positions [3, B, S] -> o [B, Hq, S, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %positions: tensor<3x?x?xi32> {pe.name = "positions", pe.init = "integers(0,256)"})
    -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotary positions(%positions : tensor<3x?x?xi32>)
      {sections = [24, 20, 20], sections_of = 64, alternating = true}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v rotate(%rotation) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
