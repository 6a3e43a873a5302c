// A learned vector per position, added to the tokens before the projections of attention. Sequences
// longer than the table are rejected.
!tokens = tensor<?x?x?xf32>

func.func @embed(%x: !tokens {pe.name = "x"},
                 %table: tensor<?x?xf32> {pe.name = "table", pe.axes = ["positions", "model"], pe.init = "normal(1)"})
    -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn(%table : tensor<?x?xf32>) expr "table[p, d]"
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}
