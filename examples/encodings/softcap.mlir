// Softcap: the scaled score s becomes 30 tanh(s / 30), so that all logits are in (-30, 30).
//
// Gemma Team 2024, arXiv 2408.00118, section 2. Biases are added after it.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %s = pe.score_fn expr "30 * tanh(s / 30)"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v score(%s) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
