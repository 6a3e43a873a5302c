// An argument in addition to q, k and v. train-data.test changes its attributes and shape.
!t = tensor<?x?x?x?xf32>
func.func @attention(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
    %imp: tensor<?x?x?xf32> {pe.name = "imp", pe.axes = ["batch", "head", "key"]}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%imp : tensor<?x?x?xf32>) expr "imp[b,h,j]"
  %m = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}
