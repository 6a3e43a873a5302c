// Content terms without a causal mask: a table per head, clipped on both sides, after a rotation and a
// query shift, and waves with amplitudes, combined with a bias.
!qkv = tensor<?x?x?x?xf32>
!vectors = tensor<?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %near: tensor<7x?x?xf32> {pe.name = "near", pe.axes = ["offset", "head", "depth"],
                                               pe.init = "normal(0.3)"},
                     %shift: !vectors {pe.name = "shift", pe.axes = ["head", "depth"], pe.init = "normal(0.3)"},
                     %u: !vectors {pe.name = "u", pe.axes = ["head", "depth"], pe.init = "normal(0.3)"},
                     %slopes: tensor<?xf32> {pe.name = "slopes", pe.init = 0.1})
    -> (!qkv {pe.name = "o"}) {
  %moved = pe.query_shift %u : !vectors
  %rotation = pe.rotary
  %bias = pe.bias_fn(%slopes : tensor<?xf32>) expr "-slopes[h] * abs(i - j)"
  %table = pe.content_fn(%near : tensor<7x?x?xf32>) shift(%shift : !vectors)
      expr "near[clamp(i - j + 2, -1, 5) + 1, h, d]"
  %waves = pe.content_fn
      expr "let w = 1 / (1 + d // 2) in 0.5 * cos((i - j) * w) - select(d % 2 == 0, 0.25, 0) * sin((i - j) * w)"
  %o = pe.attention %q, %k, %v bias(%bias) prologue(%moved) rotate(%rotation) content(%table, %waves)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
