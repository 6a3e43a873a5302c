// FIRE with tanh instead of ReLU.
//
//   b_h(i, j) = f_h(t(i, j)),   f a tanh network 1 -> 32 -> H
//   t(i, j) = log(|c (i - j)| + 1) / (log(|c max(i, L)| + 1) + 1e-6),   L = |512 L_multiplier|
//
// Li et al. 2023, arXiv 2310.04418, App. B.3. The smooth function of t is
// approximated by cubic pieces to 1e-5 logits.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
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
                     %b2: tensor<?xf32> {pe.name = "b2", pe.init = "linear(32)"})
    -> (!qkv {pe.name = "o"}) {
  %t = pe.progressive c(%c : tensor<f32>) threshold(%L_multiplier : tensor<f32>)
         {initial_length = 512.0, epsilon = 1.0e-6}
  %bias = pe.mlp %t layers(%w1, %b1, %w2, %b2
                           : tensor<32xf32>, tensor<32xf32>, tensor<?x32xf32>, tensor<?xf32>)
            {activation = #pe.activation<tanh>}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
