// Data of queries and keys in code that is evaluated per pair, integers that index a table, an optional
// argument, and named axes: low-rank scores.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %f: tensor<?x?x?xf32> {pe.name = "f", pe.axes = ["batch", "head", "key"]},
                     %f_q: tensor<?x?x?xf32> {pe.name = "f_q", pe.axes = ["batch", "head", "query"],
                                              pe.absent = "f"},
                     %g: tensor<?x?xf32> {pe.name = "g", pe.axes = ["batch", "key"]},
                     %one: tensor<1x?xf32> {pe.name = "one", pe.axes = ["batch", "query"]},
                     %ids: tensor<?x?xi32> {pe.name = "ids", pe.axes = ["batch", "key"],
                                            pe.init = "integers(0,6)"},
                     %kinds: tensor<6x?xf32> {pe.name = "kinds", pe.init = "normal(0.5)"},
                     %waves: tensor<?x?xf32> {pe.name = "waves", pe.axes = ["rank", "head"],
                                              pe.init = "uniform(0.1,0.3)"})
    -> (!qkv {pe.name = "o"}) {
  %pairs = pe.bias_fn(%f, %f_q, %g, %one : tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?xf32>, tensor<1x?xf32>)
      expr "tanh(f_q[b, h, i] * f[b, h, j]) + cos(one[b, i] * g[b, j])"
  %kind = pe.bias_fn(%ids, %kinds : tensor<?x?xi32>, tensor<6x?xf32>) expr "kinds[ids[b, j], h]"
  %wave = pe.bias_fn(%waves : tensor<?x?xf32>)
      expr "sum(n < size(waves, 0), cos(waves[n, h] * (i - j)) / (n + 2))"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%pairs, %kind, %wave) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
