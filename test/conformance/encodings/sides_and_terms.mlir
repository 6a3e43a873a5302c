// Stick-breaking in both directions with a window, the query's own key, the remainder, dropout, a function
// of the score, and biases of several classes.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %table: tensor<?x41xf32> {pe.name = "table", pe.init = "normal(0.5)"},
                     %key_bias: tensor<?x?xf32> {pe.name = "key_bias", pe.axes = ["batch", "key"]},
                     %gain: tensor<?xf32> {pe.name = "gain", pe.init = 1.0},
                     %seed: tensor<i64> {pe.name = "seed"}) -> (!qkv {pe.name = "o"}) {
  %distance = pe.bias_fn(%table : tensor<?x41xf32>) expr "table[h, clamp(i - j, -20, 20) + 20]"
  %keys = pe.bias_fn(%key_bias : tensor<?x?xf32>) expr "key_bias[b, j]"
  %score = pe.score_fn(%gain : tensor<?xf32>) expr "tanh(s * gain[h])"
  %window = pe.sliding_window {left = 100, right = 70}
  %o = pe.attention %q, %k, %v bias(%distance, %keys) score(%score) dropout(0.25, %seed : tensor<i64>) mask(%window)
      {normalizer = #pe.normalizer<stick_breaking>, direction = #pe.direction<both>, attend_current,
       remainder = #pe.remainder<value>} : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
