// The remainder with masks that exclude the query's own key for some queries: an interval per row, and
// code. Also returns the log-sum-exp, with dropout on the weights.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %kv_len: tensor<?xi32> {pe.name = "kv_len", pe.init = "integers(10,150)", pe.axes = ["batch"]},
                     %q_doc: tensor<?x?xi32> {pe.name = "q_doc", pe.init = "integers(0,3)",
                         pe.axes = ["batch", "query"]},
                     %k_doc: tensor<?x?xi32> {pe.name = "k_doc", pe.init = "integers(0,3)", pe.axes = ["batch", "key"]},
                     %seed: tensor<i64> {pe.name = "seed"},
                     %g: tensor<?xf32> {pe.name = "g", pe.init = 0.02})
    -> (!qkv {pe.name = "o"}, tensor<?x?x?xf32> {pe.name = "log_mass"}) {
  %b = pe.bias_fn(%g : tensor<?xf32>) expr "1 - g[h] * (i - j)"
  %causal = pe.causal
  %padding = pe.mask_fn(%kv_len : tensor<?xi32>) expr "j < kv_len[b]"
  %documents = pe.mask_fn(%q_doc, %k_doc : tensor<?x?xi32>, tensor<?x?xi32>) expr "q_doc[b, i] == k_doc[b, j]"
  %both = pe.mask_and %padding, %documents
  %m = pe.mask_and %causal, %both
  %o, %log_mass = pe.attention %q, %k, %v bias(%b) dropout(0.25, %seed : tensor<i64>) mask(%m)
      {normalizer = #pe.normalizer<stick_breaking>, attend_current, remainder = #pe.remainder<value>}
      : (!qkv, !qkv, !qkv) -> !qkv, tensor<?x?x?xf32>
  return %o, %log_mass : !qkv, tensor<?x?x?xf32>
}
