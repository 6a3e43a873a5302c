// The logarithm of the remaining mass of stick-breaking, with keys so unlikely that 1 - p rounds to 1 for
// each of them.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %g: tensor<?xf32> {pe.name = "g", pe.init = 0.02})
    -> (!qkv {pe.name = "o"}, tensor<?x?x?xf32> {pe.name = "lse"}) {
  %b = pe.bias_fn(%g : tensor<?xf32>) expr "-12 - g[h] * (i - j)"
  %m = pe.causal
  %o, %lse = pe.attention %q, %k, %v bias(%b) mask(%m) {normalizer = #pe.normalizer<stick_breaking>}
      : (!qkv, !qkv, !qkv) -> !qkv, tensor<?x?x?xf32>
  return %o, %lse : !qkv, tensor<?x?x?xf32>
}
