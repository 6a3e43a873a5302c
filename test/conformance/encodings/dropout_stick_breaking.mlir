// Dropout of the weights of stick-breaking, with a learned decay.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %decay: tensor<?xf32> {pe.name = "decay", pe.init = 0.01},
                     %seed: tensor<i64> {pe.name = "seed"})
    -> (!qkv {pe.name = "o"}) {
  %bias = pe.bias_fn(%decay : tensor<?xf32>) expr "-decay[h] * (i - j)"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) dropout(0.5, %seed : tensor<i64>) mask(%mask)
                {normalizer = #pe.normalizer<stick_breaking>}
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
