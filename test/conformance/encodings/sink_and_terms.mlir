// A sink with all terms that depend on the sum of a softmax row: bias terms of the query, of the query and
// the key, and of the key, the log-sum-exp with its cotangent, a score function, and dropout.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %rows: tensor<?x?xf32> {pe.name = "rows", pe.axes = ["batch", "query"]},
                     %columns: tensor<?x?x?xf32>
                         {pe.name = "columns", pe.axes = ["batch", "kv_head", "key"]},
                     %slopes: tensor<?xf32> {pe.name = "slopes", pe.init = "uniform(0.004,0.5)"},
                     %sink: tensor<?xf32> {pe.name = "sink", pe.init = 0.0},
                     %seed: tensor<?xi64> {pe.name = "seed"})
    -> (!qkv {pe.name = "o"}, tensor<?x?x?xf32> {pe.name = "lse"}) {
  %lines = pe.bias_fn(%rows, %columns : tensor<?x?xf32>, tensor<?x?x?xf32>)
             expr "rows[b, i] - 0.3 * columns[b, h, j]"
  %queries = pe.bias_fn(%slopes : tensor<?xf32>) expr "slopes[h] * sin(i)"
  %distance = pe.bias_fn(%slopes : tensor<?xf32>) expr "-slopes[h] * abs(i - j)"
  %score = pe.score_fn expr "20 * tanh(s / 20)"
  %mask = pe.causal
  %o, %lse = pe.attention %q, %k, %v bias(%lines, %queries, %distance) score(%score)
               sink(%sink : tensor<?xf32>) dropout(0.3, %seed : tensor<?xi64>) mask(%mask)
      : (!qkv, !qkv, !qkv) -> !qkv, tensor<?x?x?xf32>
  return %o, %lse : !qkv, tensor<?x?x?xf32>
}
