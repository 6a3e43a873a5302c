// Several documents in one sequence: a query attends to the keys of the same document up to itself.
//
//   unmasked(i, j) = j <= i  and  q_doc[b, i] = k_doc[b, j]
//
// Document ids are data: any integers, in any order. No positional encoding.
//
// q_doc [B, Sq] i32, k_doc [B, Sk] i32
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %q_doc: tensor<?x?xi32> {pe.name = "q_doc", pe.axes = ["batch", "query"],
                                              pe.init = "integers(0,3)"},
                     %k_doc: tensor<?x?xi32> {pe.name = "k_doc", pe.axes = ["batch", "key"],
                                              pe.init = "integers(0,3)"})
    -> (!qkv {pe.name = "o"}) {
  %causal = pe.causal
  %same = pe.mask_fn(%q_doc, %k_doc : tensor<?x?xi32>, tensor<?x?xi32>)
      expr "q_doc[b, i] == k_doc[b, j]"
  %mask = pe.mask_and %causal, %same
  %o = pe.attention %q, %k, %v mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
