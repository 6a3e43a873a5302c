// A sum of cosines with frequencies up to 120 of FIRE's coordinate. It needs more cubic pieces than the
// limit, so the network is evaluated for each score.
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %c: tensor<f32> {pe.name = "c", pe.init = 0.1, pe.decay = false},
                     %L_multiplier: tensor<f32> {pe.name = "L_multiplier", pe.init = 1.0,
                                                 pe.decay = false,
                                                 pe.monitor = {L = "abs(L_multiplier) * 512"}},
                     %frequency: tensor<32xf32> {pe.name = "frequency", pe.init = "uniform(-120, 120)"},
                     %b1: tensor<32xf32> {pe.name = "b1", pe.init = "linear"},
                     %w2: tensor<?x32xf32> {pe.name = "w2", pe.init = "linear"},
                     %b2: tensor<?xf32> {pe.name = "b2", pe.init = "linear(32)"})
    -> (!qkv {pe.name = "o"}) {
  %t = pe.progressive c(%c : tensor<f32>) threshold(%L_multiplier : tensor<f32>)
         {initial_length = 512.0, epsilon = 1.0e-6}
  %bias = pe.mlp %t layers(%frequency, %b1, %w2, %b2
                           : tensor<32xf32>, tensor<32xf32>, tensor<?x32xf32>, tensor<?xf32>)
            {activation = #pe.activation<cos>}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
