// A row part and a column part that nearly cancel when there are many keys.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
             %a: tensor<?xf32> {pe.name = "a", pe.init = 0.1}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%a : tensor<?xf32>) expr "a[h] * sqrt((1.0*j)*(1.0*j) + 1.0) - a[h] * sqrt((1.0*i)*(1.0*i) + 1.0)"
  %m = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}
