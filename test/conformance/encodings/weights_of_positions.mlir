// A sink and a factor that are functions of explicit positions. The factor has negative values and reads
// data, and it has its own dropout in addition to the dropout clause.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %rise: tensor<?xf32> {pe.name = "rise", pe.init = "uniform(-0.5,0.5)"},
                     %rate: tensor<?xf32> {pe.name = "rate", pe.init = "uniform(0.01,0.1)"},
                     %gate: tensor<?x?xf32> {pe.name = "gate", pe.axes = ["batch", "key"]},
                     %own: tensor<?xi64> {pe.name = "own"}, %seed: tensor<i64> {pe.name = "seed"},
                     %q_pos: tensor<?x?xi32> {pe.name = "q_pos", pe.init = "integers(0,256)"},
                     %k_pos: tensor<?x?xi32> {pe.name = "k_pos", pe.init = "integers(0,256)"})
    -> (!qkv {pe.name = "o"}, tensor<?x?x?xf32> {pe.name = "lse"}) {
  %sink = pe.sink_fn(%rise : tensor<?xf32>) expr "rise[h] * log(1 + i)"
  %waves = pe.factor_fn(%rate : tensor<?xf32>) expr "cos(rate[h] * (i - j))"
  %gated = pe.factor_fn(%gate, %own : tensor<?x?xf32>, tensor<?xi64>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %g: tensor<?x?xf32>, %s: tensor<?xi64>):
    %kept = pe.dropout_factor 0.5, %s : tensor<?xi64>
    %x = pe.read %g[%b, %j] : tensor<?x?xf32>
    %y = math.tanh %x : f32
    %z = arith.mulf %y, %kept : f32
    pe.yield %z : f32
  }
  %mask = pe.causal
  %o, %lse = pe.attention %q, %k, %v sink(%sink) factor(%waves, %gated) dropout(0.1, %seed : tensor<i64>)
      positions(%q_pos, %k_pos : tensor<?x?xi32>, tensor<?x?xi32>) mask(%mask)
      : (!qkv, !qkv, !qkv) -> !qkv, tensor<?x?x?xf32>
  return %o, %lse : !qkv, tensor<?x?x?xf32>
}
