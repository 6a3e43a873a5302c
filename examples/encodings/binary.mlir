// The binary digits of the position, lowest first: dimension d is bit d of p, and 0 after the 13 bits of
// max = 5000. Written as a region, because its integer operations are exact.
!tokens = tensor<?x?x?xf32>

func.func @embed(%x: !tokens {pe.name = "x"}) -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn {
  ^bb0(%p: index, %d: index, %dim: index, %n: index):
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %bits = arith.constant 13 : index
    %exists = arith.cmpi slt, %d, %bits : index
    %shifted = arith.shrui %p, %d : index
    %digit = arith.andi %shifted, %one : index
    %bit = arith.select %exists, %digit, %zero : index
    %integer = arith.index_cast %bit : index to i64
    %value = arith.sitofp %integer : i64 to f32
    pe.yield %value : f32
  }
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}
