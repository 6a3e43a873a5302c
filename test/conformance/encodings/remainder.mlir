// Stick-breaking with the logarithm of the remaining mass as a second result, and its gradient.
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}, tensor<?x?x?xf32> {pe.name = "r"}) {
  %mask = pe.causal
  %o, %r = pe.attention %q, %k, %v mask(%mask) {normalizer = #pe.normalizer<stick_breaking>}
      : (!qkv, !qkv, !qkv) -> !qkv, tensor<?x?x?xf32>
  return %o, %r : !qkv, tensor<?x?x?xf32>
}
