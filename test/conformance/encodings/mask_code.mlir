// Masks as code that read data of queries, keys and heads, inside a window, with a learned bias and a
// score function.
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %group: tensor<?x?xi32> {pe.name = "group", pe.axes = ["head", "key"],
                                              pe.init = "integers(0,2)"},
                     %amp: tensor<?xf32> {pe.name = "amp", pe.init = 1.0})
    -> (!qkv {pe.name = "o"}) {
  %wave = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[h] * sin(0.001 * i * j)"
  %cap = pe.score_fn expr "8 * tanh(s / 8)"
  %near = pe.sliding_window {left = 70, right = 9}
  %some = pe.mask_fn(%group : tensor<?x?xi32>) expr "(i + group[h, j]) % 3 != 0"
  %other = pe.mask_fn expr "(i - j) % 5 == 0"
  %either = pe.mask_or %some, %other
  %mask = pe.mask_and %near, %either
  %o = pe.attention %q, %k, %v bias(%wave) score(%cap) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
