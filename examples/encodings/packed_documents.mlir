// Documents packed into one sequence; the positions of FIRE restart in each document.
//
//   unmasked(i, j) = j <= i, within a document
//   b_h(i, j) = f_h(t(i, j)),   f a ReLU network 1 -> 32 -> H, t as in fire.mlir
//
// Document n has the rows cu_seqlens[n] to cu_seqlens[n + 1] - 1 of a batch of 1. Positions restart: i
// and j count from the document's beginning, so results and gradients equal those of one call per
// document.
//
// cu_seqlens [boundaries] i32, from 0 to the length; q [1, Hq, S, D], k and v [1, Hkv, S, D]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %c: tensor<f32> {pe.name = "c", pe.init = 0.1, pe.decay = false},
                     %L_multiplier: tensor<f32> {pe.name = "L_multiplier", pe.init = 1.0,
                                                 pe.decay = false,
                                                 pe.monitor = {L = "abs(L_multiplier) * 512"}},
                     %w1: tensor<32xf32> {pe.name = "w1", pe.init = "linear"},
                     %b1: tensor<32xf32> {pe.name = "b1", pe.init = "linear"},
                     %w2: tensor<?x32xf32> {pe.name = "w2", pe.init = "linear"},
                     %b2: tensor<?xf32> {pe.name = "b2", pe.init = "linear(32)"},
                     %cu_seqlens: tensor<?xi32> {pe.name = "cu_seqlens",
                                                 pe.axes = ["boundaries"]})
    -> (!qkv {pe.name = "o"}) {
  %t = pe.progressive c(%c : tensor<f32>) threshold(%L_multiplier : tensor<f32>)
         {initial_length = 512.0, epsilon = 1.0e-6}
  %bias = pe.mlp %t layers(%w1, %b1, %w2, %b2
                           : tensor<32xf32>, tensor<32xf32>, tensor<?x32xf32>, tensor<?xf32>)
            {activation = #pe.activation<relu>}
  %causal = pe.causal
  %documents = pe.documents %cu_seqlens : tensor<?xi32> {restart = true}
  %mask = pe.mask_and %causal, %documents
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
