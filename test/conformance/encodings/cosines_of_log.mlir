// A composition beyond published encodings: cosines of a learned coordinate.
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %c: tensor<?xf32> {pe.name = "c", pe.init = 0.1},
                     %r1: tensor<?xf32> {pe.name = "r1", pe.init = 0.5})
    -> (!qkv {pe.name = "o"}) {
  %x = pe.log_distance c(%c : tensor<?xf32>)
  %bias = pe.cosine_sum %x amplitude(%r1 : tensor<?xf32>) {terms = 8, base = 2.0}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
