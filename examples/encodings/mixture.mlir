// A learned mixture of sinusoids and a learned vector: alpha * sinusoidal(p) + (1 - alpha) * rel[r].
// The source reads the table of 2 max - 1 relative positions at r = (max - 1) - (n - 1) + p, where n is
// the length, so this is an absolute embedding that depends on the length.
!tokens = tensor<?x?x?xf32>
!table = tensor<?x?xf32>

func.func @embed(%x: !tokens {pe.name = "x"},
                 %alpha: tensor<f32> {pe.name = "alpha", pe.init = 0.5},
                 %rel: !table {pe.name = "rel", pe.axes = ["offsets", "model"], pe.init = "normal(1)"})
    -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn(%alpha, %rel : tensor<f32>, !table) attributes {width_multiple = 2, least = {offsets = "max(2 * n - 1, 0)"}}
         expr "alpha * select(d == 2 * int(d / 2), sin(p / 10000 ^ (2 * int(d / 2) / dim)), cos(p / 10000 ^ (2 * int(d / 2) / dim))) + (1 - alpha) * rel[int((size(rel, 0) - 1) / 2) - (n - 1) + p, d]"
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}
