// An embedding of a tensor with a row per row of the call, indexed by the position minus the start.
!tokens = tensor<?x?x?xf32>

func.func @embed(%x: !tokens {pe.name = "x"},
                 %own: tensor<?x?xf32> {pe.name = "own", pe.axes = ["query", "model"], pe.init = "normal(1)"},
                 %few: tensor<3xf32> {pe.name = "few", pe.axes = ["parts"], pe.init = "normal(1)"})
    -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn(%own, %few : tensor<?x?xf32>, tensor<3xf32>) expr "few[p % 3] * own[p, d]"
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}
