// The log of the mass that stick-breaking leaves, with keys so unlikely that each one is lost beside 1.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %g: tensor<?xf32> {pe.name = "g", pe.init = 0.02})
    -> (!qkv {pe.name = "o"}, tensor<?x?x?xf32> {pe.name = "lse"}) {
  %b = pe.bias_fn(%g : tensor<?xf32>) expr "-12 - g[h] * (i - j)"
  %m = pe.causal
  %o, %lse = pe.attention %q, %k, %v bias(%b) mask(%m) {normalizer = #pe.normalizer<stick_breaking>} : (!qkv, !qkv, !qkv) -> !qkv, tensor<?x?x?xf32>
  return %o, %lse : !qkv, tensor<?x?x?xf32>
}
