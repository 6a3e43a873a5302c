// Vectors that are added to the values, without a causal mask: a table per head, clipped on both sides,
// with dropout, a sink, a returned log-sum-exp, and a bias.
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %near: tensor<7x?x?xf32> {pe.name = "near", pe.axes = ["offset", "head", "value_depth"],
                                               pe.init = "normal(0.3)"},
                     %slopes: tensor<?xf32> {pe.name = "slopes", pe.init = 0.1},
                     %sink: tensor<?xf32> {pe.name = "sink", pe.init = 0.5},
                     %seed: tensor<i64> {pe.name = "seed"})
    -> (!qkv {pe.name = "o"}, tensor<?x?x?xf32> {pe.name = "lse"}) {
  %bias = pe.bias_fn(%slopes : tensor<?xf32>) expr "-slopes[h] * abs(i - j)"
  %table = pe.content_fn(%near : tensor<7x?x?xf32>) expr "near[clamp(i - j + 2, -1, 5) + 1, h, d]"
  %o, %lse = pe.attention %q, %k, %v bias(%bias) value_content(%table) sink(%sink : tensor<?xf32>)
      dropout(0.2, %seed : tensor<i64>) : (!qkv, !qkv, !qkv) -> !qkv, tensor<?x?x?xf32>
  return %o, %lse : !qkv, tensor<?x?x?xf32>
}
