// A factor on the weights that is a product of values of the query, of values of the pair and of
// random draws, under a window per head. The values of the query multiply the output.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %gate: tensor<?x?x?xf32>
                         {pe.name = "gate", pe.axes = ["batch", "head", "query"]},
                     %rate: tensor<?xf32> {pe.name = "rate", pe.init = "uniform(0.01,0.1)"},
                     %width: tensor<?xi32> {pe.name = "width", pe.init = "integers(1,90)"},
                     %seed: tensor<i64> {pe.name = "seed"}) -> (!qkv {pe.name = "o"}) {
  %factor = pe.factor_fn(%gate, %rate : tensor<?x?x?xf32>, tensor<?xf32>)
      expr "2 * sigmoid(gate[b, h, i]) * exp(-rate[h] * abs(i - j)) / (1 + sqrt(i))"
  %causal = pe.causal
  %window = pe.mask_fn(%width : tensor<?xi32>) expr "i - j < width[h]"
  %mask = pe.mask_and %causal, %window
  %o = pe.attention %q, %k, %v factor(%factor) dropout(0.2, %seed : tensor<i64>) mask(%mask)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
