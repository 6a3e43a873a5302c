// Rotated values under stick-breaking on both sides of a query, with a magnitude.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %r = pe.rotation_fn attributes {magnitude = 1.25} expr "100 ^ (-p / n)"
  %o = pe.attention %q, %k, %v rotate_values(%r)
      {normalizer = #pe.normalizer<stick_breaking>, direction = #pe.direction<both>} : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
