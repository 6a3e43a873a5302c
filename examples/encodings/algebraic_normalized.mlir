// Like algebraic.mlir, but bounded: (p / (max - 1))^(d / (Dm - 1)) with max = 5000, from 1 in the first
// dimension to p / (max - 1) in the last one.
!tokens = tensor<?x?x?xf32>

func.func @embed(%x: !tokens {pe.name = "x"}) -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn expr "(p / 4999) ^ (d / max(dim - 1, 1))"
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}
