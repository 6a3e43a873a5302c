// Stick-breaking over the keys of a query's own document; masked keys take no mass.
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %doc: tensor<?x?xi32> {pe.name = "doc", pe.axes = ["batch", "key"],
                                            pe.init = "integers(0,2)"},
                     %decay: tensor<?xf32> {pe.name = "decay", pe.init = 0.01})
    -> (!qkv {pe.name = "o"}) {
  %x = pe.distance
  %fade = pe.linear %x slope(%decay : tensor<?xf32>) {factor = -1.0}
  %causal = pe.causal
  %some = pe.mask_fn(%doc : tensor<?x?xi32>) expr "doc[b, j] == i % 3"
  %mask = pe.mask_and %causal, %some
  %o = pe.attention %q, %k, %v bias(%fade) mask(%mask) {normalizer = #pe.normalizer<stick_breaking>}
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
