!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"}) -> (!t {pe.name = "o"}) {
  %d = pe.distance
  %b = pe.linear %d {factor = -1.0, rule = #pe.slope_rule<geometric>}
  %m = pe.sliding_window {right = RIGHT}
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}
