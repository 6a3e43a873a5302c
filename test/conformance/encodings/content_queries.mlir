// Content terms with their own queries: vectors per head on both sides within an extent of 67 distances,
// a table of near distances whose extent ends before the table does, and waves, with factors of the query
// that have parameters, combined with a rotation, a bias and the queries' heads in groups.
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %a: tensor<?x?x?x24xf32> {pe.name = "a", pe.axes = ["batch", "head", "query", "rank"]},
                     %b: tensor<?x?x?x8xf32> {pe.name = "b_rows"},
                     %c: tensor<?x?x?x16xf32> {pe.name = "c_rows"},
                     %rate: tensor<?x24xf32> {pe.name = "rate", pe.init = "uniform(0.02,0.2)"},
                     %near: tensor<15x8xf32> {pe.name = "near", pe.init = "normal(0.05)"},
                     %gain: tensor<?xf32> {pe.name = "gain", pe.init = "normal(0.3)"},
                     %slopes: tensor<?xf32> {pe.name = "slopes", pe.init = 0.1})
    -> (!qkv {pe.name = "o"}) {
  %rotation = pe.rotary
  %bias = pe.bias_fn(%slopes : tensor<?xf32>) expr "-slopes[h] * abs(i - j)"
  %rises = pe.factor_fn(%gain : tensor<?xf32>) expr "1 + gain[h] * log(1 + max(0, i))"
  %falls = pe.factor_fn(%gain : tensor<?xf32>) expr "gain[h] / (1 + abs(i))"
  %panel = pe.content_fn(%rate : tensor<?x24xf32>) times(%rises) extent(67)
      expr "0.05 * exp(-rate[h, d] * abs(i - j)) * (1 + 0.1 * d)"
  %table = pe.content_fn(%near : tensor<15x8xf32>) extent(6) expr "near[i - j + 7, d]"
  %waves = pe.content_fn times(%falls)
      expr "let w = 1 / (1 + d // 2) in 0.1 * cos((i - j) * w) - select(d % 2 == 0, 0.05, 0) * sin((i - j) * w)"
  %o = pe.attention %q, %k, %v bias(%bias) rotate(%rotation) content(%panel, %table, %waves)
      query(%a, %b, %c : tensor<?x?x?x24xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x16xf32>)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
