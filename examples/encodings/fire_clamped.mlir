// Clamped FIRE: a threshold per head instead of the query's position, one network for all heads.
//
//   b_h(i, j) = f(t_h(i, j)),   f a GELU network 1 -> 32 -> 1
//   t_h(i, j) = clamp(log(1 + |i - j|) / log(1 + L_h), 0, 1),   L_h = exp(log_threshold_h)
//
// Logarithmic below L_h and constant above, so it depends only on the distance. docs/encodings/fire.md
// describes the variant; L is initialized to 8192.
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %log_threshold: tensor<?xf32> {pe.name = "log_threshold",
                                                    pe.init = 9.010913347279288,
                                                    pe.decay = false,
                                                    pe.monitor = {L = "exp(log_threshold)"}},
                     %w1: tensor<32xf32> {pe.name = "w1", pe.init = "xavier(0.1)"},
                     %b1: tensor<32xf32> {pe.name = "b1", pe.init = 0.0},
                     %w2: tensor<1x32xf32> {pe.name = "w2", pe.init = "xavier(0.1)"},
                     %b2: tensor<1xf32> {pe.name = "b2", pe.init = 0.0}) -> (!qkv {pe.name = "o"}) {
  %t = pe.clamped_log threshold(%log_threshold : tensor<?xf32>)
  %bias = pe.mlp %t layers(%w1, %b1, %w2, %b2
                           : tensor<32xf32>, tensor<32xf32>, tensor<1x32xf32>, tensor<1xf32>)
            {activation = #pe.activation<gelu>}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
