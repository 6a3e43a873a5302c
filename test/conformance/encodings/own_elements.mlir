// Data with an element per pair: whole matrices, one of them shared by batches and heads, and profiles of
// the distance per query and per key, which have elements that no pair reads.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %pair: tensor<?x?x?x?xf32> {pe.name = "pair", pe.axes = ["batch", "head", "query", "key"],
                                                 pe.init = "normal(0.5)"},
                     %all: tensor<?x?xf32> {pe.name = "all", pe.axes = ["query", "key"], pe.init = "normal(0.5)"},
                     %back: tensor<?x?x?x12xf32> {pe.name = "back", pe.axes = ["batch", "head", "query", "back"],
                                                  pe.init = "normal(0.5)"},
                     %around: tensor<?x?x9xf32> {pe.name = "around", pe.axes = ["batch", "key", "around"],
                                                 pe.init = "normal(0.5)"})
    -> (!qkv {pe.name = "o"}) {
  %own = pe.bias_fn(%pair, %all : tensor<?x?x?x?xf32>, tensor<?x?xf32>) expr "tanh(pair[b, h, i, j]) + all[i, j]"
  %profile = pe.bias_fn(%back : tensor<?x?x?x12xf32>)
      expr "select(i - j >= 0 and i - j < 12, back[b, h, i, max(min(i - j, 11), 0)], 0)"
  %window = pe.bias_fn(%around : tensor<?x?x9xf32>)
      expr "select(i - j >= -4 and i - j <= 4, 2 * around[b, j, j - i + 4], -0.1)"
  %o = pe.attention %q, %k, %v bias(%own, %profile, %window) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
