// Data over every axis of a call: a row and a column bias under stick-breaking, and a gain in a function
// of the score.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %rows: tensor<?x?xf32> {pe.name = "rows", pe.axes = ["batch", "query"]},
                     %columns: tensor<?x?x?xf32>
                         {pe.name = "columns", pe.axes = ["batch", "kv_head", "key"]},
                     %gain: tensor<1x?xf32> {pe.name = "gain", pe.axes = ["batch", "head"]})
    -> (!qkv {pe.name = "o"}) {
  %lines = pe.bias_fn(%rows, %columns : tensor<?x?xf32>, tensor<?x?x?xf32>)
             expr "rows[b, i] - 0.3 * columns[b, h, j]"
  %score = pe.score_fn(%gain : tensor<1x?xf32>) expr "20 * tanh(s * gain[b, h] / 20)"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%lines) score(%score) mask(%mask)
         {normalizer = #pe.normalizer<stick_breaking>} : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
