// Position p in dimension d as p / (max - 1)^(d / (Dm - 1)) with max = 5000: from p in the first
// dimension down to p / (max - 1) in the last one (docs/encodings/absolute.md says what its source claims).
!tokens = tensor<?x?x?xf32>

func.func @embed(%x: !tokens {pe.name = "x"}) -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn expr "p * 4999 ^ (-d / max(dim - 1, 1))"
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}
