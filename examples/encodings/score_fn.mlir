// A score function: s log(1 + i) g[h], which sharpens the scores of later queries.
//
// The region gets the scaled score s of a pair, batch b, head h, query position i and key position
// j. Its derivatives, here with respect to s and g, are derived automatically.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %g: tensor<?xf32> {pe.name = "g", pe.init = 1.0})
    -> (!qkv {pe.name = "o"}) {
  %s = pe.score_fn(%g : tensor<?xf32>) expr "s * log(1 + i) * g[h]"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v score(%s) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
