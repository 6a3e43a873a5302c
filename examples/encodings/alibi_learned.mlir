// ALiBi with learned slopes that are initialized to the geometric ones.
//
//   b_h(i, j) = -s_h |i - j|,   s_h = 2^(-8 (h + 1) / H) initially
//
// Press, Smith, Lewis 2022, arXiv 2108.12409, section 3 (which found no improvement).
//
// q [B, Hq, Sq, D], k [B, Hkv, Sk, D], v [B, Hkv, Sk, Dv] -> o [B, Hq, Sq, Dv]
!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %slopes: tensor<?xf32> {pe.name = "slopes", pe.init = "slopes(geometric)",
                                             pe.decay = false}) -> (!qkv {pe.name = "o"}) {
  %distance = pe.distance
  %bias = pe.linear %distance slope(%slopes : tensor<?xf32>) {factor = -1.0}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
