// A merge of two softmax attentions with a sink that neither of them includes.
!out = tensor<?x?x?x?xf32>
!rows = tensor<?x?x?xf32>
func.func @merge(%o1: !out {pe.name = "o1"}, %lse1: !rows {pe.name = "lse1"},
                 %o2: !out {pe.name = "o2"}, %lse2: !rows {pe.name = "lse2"},
                 %sink: tensor<?xf32> {pe.name = "sink", pe.init = 0.0})
    -> (!out {pe.name = "o"}, !rows {pe.name = "lse"}) {
  %o, %lse = pe.merge %o1, %lse1, %o2, %lse2 sink(%sink : tensor<?xf32>) : (!out, !rows, !out, !rows) -> !out, !rows
  return %o, %lse : !out, !rows
}
