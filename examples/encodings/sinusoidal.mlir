// Sinusoids of the position (Vaswani et al. 2017, "Attention Is All You Need", section 3.5): sine in
// even dimensions, cosine in odd ones, of p / 10000^(2k / Dm) for pair k. Added to the tokens before
// the projections of attention.
!tokens = tensor<?x?x?xf32>

func.func @embed(%x: !tokens {pe.name = "x"}) -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn attributes {width_multiple = 2}
         expr "select(d == 2 * int(d / 2), sin(p / 10000 ^ (2 * int(d / 2) / dim)), cos(p / 10000 ^ (2 * int(d / 2) / dim)))"
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}
