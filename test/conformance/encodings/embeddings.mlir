// Two embeddings for two results, one of them used by both. Together they read every kind of operand:
// a table by position, data of the call by its global position, a value per token dimension, a small
// tensor by another index, and a size.
!tokens = tensor<?x?x?xf32>
!table = tensor<?x?xf32>

func.func @embed(%x: !tokens {pe.name = "x"}, %z: !tokens {pe.name = "z"},
                 %table: !table {pe.name = "rows", pe.axes = ["rows", "model"], pe.init = "normal(1)"},
                 %own: tensor<?xf32> {pe.name = "own", pe.axes = ["query"], pe.init = "normal(1)"},
                 %gain: tensor<?xf32> {pe.name = "gain", pe.axes = ["model"], pe.init = "normal(1)"},
                 %few: tensor<3xf32> {pe.name = "few", pe.axes = ["kinds"], pe.init = "normal(1)"})
    -> (!tokens {pe.name = "y"}, !tokens {pe.name = "w"}) {
  %e = pe.embedding_fn(%table, %gain, %few : !table, tensor<?xf32>, tensor<3xf32>)
         expr "gain[d] * sin(0.01 * p * gain[d]) + few[int(d / 3)] * table[p, d]"
  %f = pe.embedding_fn(%own, %few, %table : tensor<?xf32>, tensor<3xf32>, !table)
         attributes {least = {rows = "n"}}
         expr "own[p] / (1 + d) + few[min(p, 2)] * exp(-abs(d - dim / 2) / 8) + table[size(table, 0) - 1 - p, d]"
  %y = pe.embed %x, %e : !tokens
  %w = pe.embed %z, %f : !tokens
  return %y, %w : !tokens, !tokens
}
