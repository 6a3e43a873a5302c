// Two embeddings followed by dropout, with one seed for all tokens and with one per batch entry. The
// gradients of tokens, of a table and of a small tensor are multiplied by the dropout factors.
!tokens = tensor<?x?x?xf32>

func.func @embed(%x: !tokens {pe.name = "x"}, %z: !tokens {pe.name = "z"},
                 %table: tensor<?x?xf32> {pe.name = "rows", pe.axes = ["rows", "model"], pe.init = "normal(1)"},
                 %few: tensor<3xf32> {pe.name = "few", pe.axes = ["kinds"], pe.init = "normal(1)"},
                 %seed: tensor<i64> {pe.name = "seed"}, %own: tensor<?xi64> {pe.name = "own"})
    -> (!tokens {pe.name = "y"}, !tokens {pe.name = "w"}) {
  %e = pe.embedding_fn(%table, %few : tensor<?x?xf32>, tensor<3xf32>)
      expr "few[int(d % 3)] * sin(0.1 * p) + table[p, d]"
  %y = pe.embed %x, %e dropout(0.3, %seed : tensor<i64>) : !tokens
  %w = pe.embed %z, %e dropout(0.75, %own : tensor<?xi64>) : !tokens
  return %y, %w : !tokens, !tokens
}
