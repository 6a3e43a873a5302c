// Merges two stick-breaking attentions of the same queries: the first over the nearer keys, the second
// over the farther keys, which gets the remaining mass of the first.
//
//   o = o1 + exp(log_mass1) o2
//   log_mass = log_mass1 + log_mass2
//
// After Tan et al. 2024, arXiv 2410.17980. o and log_mass are the results of stick_breaking_mass.mlir.
//
// o1, o2 [B, H, Sq, Dv], log_mass1, log_mass2 [B, H, Sq] -> o [B, H, Sq, Dv], log_mass [B, H, Sq]
!out = tensor<?x?x?x?xf32>
!rows = tensor<?x?x?xf32>

func.func @merge(%o1: !out {pe.name = "o1"}, %log_mass1: !rows {pe.name = "log_mass1"},
                 %o2: !out {pe.name = "o2"}, %log_mass2: !rows {pe.name = "log_mass2"})
    -> (!out {pe.name = "o"}, !rows {pe.name = "log_mass"}) {
  %o, %log_mass = pe.merge %o1, %log_mass1, %o2, %log_mass2
      {normalizer = #pe.normalizer<stick_breaking>} : (!out, !rows, !out, !rows) -> !out, !rows
  return %o, %log_mass : !out, !rows
}
