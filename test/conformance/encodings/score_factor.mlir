// Factors on the score that depend only on the query and are applied to it, after a rotation: data of
// the query, a temperature per head and a function of the position. At negative positions the factor
// would be NaN.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %gain: tensor<?x?x?xf32>
                         {pe.name = "gain", pe.axes = ["batch", "head", "query"]},
                     %tau: tensor<?xf32> {pe.name = "tau", pe.init = "uniform(0.5,2)"},
                     %slopes: tensor<?xf32> {pe.name = "slopes", pe.init = "uniform(0,0.1)"})
    -> (!qkv {pe.name = "o"}) {
  %turn = pe.rotary
  %score = pe.score_fn(%gain, %tau : tensor<?x?x?xf32>, tensor<?xf32>)
      expr "s * gain[b, h, i] / tau[h] - s / (2 + sqrt(i)) + 0.1 * s * log(1 + i)"
  %d = pe.distance
  %bias = pe.linear %d slope(%slopes : tensor<?xf32>) {factor = -1.0}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) rotate(%turn) score(%score) mask(%mask)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
