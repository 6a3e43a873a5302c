// FIRE without the threshold: always normalized by the query's position.
//
//   b_h(i, j) = f_h(t(i, j)),   f a ReLU network 1 -> 32 -> H
//   t(i, j) = log(|c (i - j)| + 1) / (log(|c i| + 1) + 1e-6)
//
// Li et al. 2023, arXiv 2310.04418, Eq. 22 (an ablation). Row 0 has t = 0.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %c: tensor<f32> {pe.name = "c", pe.init = 0.1, pe.decay = false},
                     %w1: tensor<32xf32> {pe.name = "w1", pe.init = "linear"},
                     %b1: tensor<32xf32> {pe.name = "b1", pe.init = "linear"},
                     %w2: tensor<?x32xf32> {pe.name = "w2", pe.init = "linear"},
                     %b2: tensor<?xf32> {pe.name = "b2", pe.init = "linear(32)"})
    -> (!qkv {pe.name = "o"}) {
  %t = pe.progressive c(%c : tensor<f32>) {epsilon = 1.0e-6}
  %bias = pe.mlp %t layers(%w1, %b1, %w2, %b2
                           : tensor<32xf32>, tensor<32xf32>, tensor<?x32xf32>, tensor<?xf32>)
            {activation = #pe.activation<relu>}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
