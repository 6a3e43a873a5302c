// A separate vector for every distance on both sides: one table per head with a shift and a projection,
// and one shared by all heads, after a rotation, with a bias and a mask from data.
!qkv = tensor<?x?x?x?xf32>
!vectors = tensor<?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %rate: tensor<?x?xf32> {pe.name = "rate", pe.axes = ["head", "depth"],
                                             pe.init = "uniform(0.02,0.2)"},
                     %size: tensor<?xf32> {pe.name = "size", pe.axes = ["depth"], pe.init = "normal(0.3)"},
                     %shift: !vectors {pe.name = "shift", pe.axes = ["head", "depth"], pe.init = "normal(0.3)"},
                     %matrix: !vectors {pe.name = "matrix", pe.axes = ["depth", "depth"], pe.init = "linear"},
                     %slopes: tensor<?xf32> {pe.name = "slopes", pe.init = 0.1},
                     %bounds: tensor<?xi32> {pe.name = "bounds", pe.axes = ["key"],
                                             pe.init = "integers(-40,200)"})
    -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotary
  %bias = pe.bias_fn(%slopes : tensor<?xf32>) expr "-slopes[h] * abs(i - j)"
  %heads = pe.content_fn(%rate : tensor<?x?xf32>) shift(%shift : !vectors) project(%matrix : !vectors)
      expr "exp(-rate[h, d] * abs(i - j))"
  %common = pe.content_fn(%size : tensor<?xf32>)
      expr "size[d] * (i - j) / (8 + abs(i - j))"
  %mask = pe.mask_fn(%bounds : tensor<?xi32>) expr "i - bounds[j] > 0 or j == i"
  %o = pe.attention %q, %k, %v bias(%bias) rotate(%rotation) content(%heads, %common) mask(%mask)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
