// An embedding of tables of which every position reads one row: one table by position, and one by a
// shifted position, so short that most positions are clamped to an end. Also reads a small tensor, and
// a small tensor per dimension.
!tokens = tensor<?x?x?xf32>
!table = tensor<?x?xf32>

func.func @embed(%x: !tokens {pe.name = "x"},
                 %table: !table {pe.name = "rows", pe.axes = ["rows", "model"], pe.init = "normal(1)"},
                 %near: tensor<5x?xf32> {pe.name = "near", pe.axes = ["five", "model"], pe.init = "normal(1)"},
                 %gain: tensor<2x?xf32> {pe.name = "gain", pe.axes = ["kinds", "model"], pe.init = "normal(1)"},
                 %few: tensor<3xf32> {pe.name = "few", pe.axes = ["parts"], pe.init = "normal(1)"})
    -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn(%table, %near, %gain, %few : !table, tensor<5x?xf32>, tensor<2x?xf32>, tensor<3xf32>)
         expr "few[0] * table[p, d] + gain[p % 2, d] * near[p - 7, d] + few[1 + int(d / 8)] * gain[0, d]"
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}
