!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"}) -> (!t {pe.name = "o"}) {
  %c = pe.causal
  %w = pe.sliding_window {left = LEFT}
  %m = pe.mask_and %c, %w
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}
