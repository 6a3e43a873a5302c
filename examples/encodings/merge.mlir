// Merges two attentions of the same queries, each over a part of the keys, into one over all keys.
//
//   lse = log(exp(lse1) + exp(lse2))
//   o = exp(lse1 - lse) o1 + exp(lse2 - lse) o2
//
// Milakov and Gimelshein 2018, arXiv 1805.02867. o and lse are the results of log_sum_exp.mlir or any
// other attention that returns them. The backward call of each part takes the merged o and lse and computes
// its share of the gradients; those of queries and parameters are summed.
//
// o1, o2 [B, H, Sq, Dv], lse1, lse2 [B, H, Sq] -> o [B, H, Sq, Dv], lse [B, H, Sq]
!out = tensor<?x?x?x?xf32>
!rows = tensor<?x?x?xf32>

func.func @merge(%o1: !out {pe.name = "o1"}, %lse1: !rows {pe.name = "lse1"},
                 %o2: !out {pe.name = "o2"}, %lse2: !rows {pe.name = "lse2"})
    -> (!out {pe.name = "o"}, !rows {pe.name = "lse"}) {
  %o, %lse = pe.merge %o1, %lse1, %o2, %lse2 : (!out, !rows, !out, !rows) -> !out, !rows
  return %o, %lse : !out, !rows
}
