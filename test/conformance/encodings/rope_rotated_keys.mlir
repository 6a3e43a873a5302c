// Keys that the caller turned, with a bias and grouped heads. Here they are random numbers.
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %r = pe.rotary {base = 1000.0}
  %d = pe.distance
  %b = pe.linear %d {factor = -1.0, rule = #pe.slope_rule<geometric>}
  %m = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) rotate(%r) mask(%m) {rotated_keys} : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
