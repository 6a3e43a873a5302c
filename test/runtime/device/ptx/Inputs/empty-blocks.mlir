// Blocks of 64 x 64 pairs of every state, below and above the diagonal, under a term with sums
// along diagonals and one with sums per head.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %s: tensor<?xf32> {pe.name = "s"}) -> (!qkv {pe.name = "o"}) {
  %b = pe.bias_fn(%s : tensor<?xf32>) expr "s[h] * (0.3 * sin(0.01 * i * j) - 0.05 * (i - j))"
  %m = pe.mask_fn expr "i // 64 == j // 64 or j // 64 == 1 and (i + j) % 3 == 0"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
