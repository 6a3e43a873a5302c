// Intervals of keys that depend on the head, some of them empty, with a condition that is evaluated
// for every pair and bounded per head as well.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %before: tensor<?xi32> {pe.name = "before", pe.init = "integers(-2,80)"},
                     %after: tensor<?xi32> {pe.name = "after", pe.init = "integers(0,30)"},
                     %slopes: tensor<?xf32> {pe.name = "slopes", pe.init = "uniform(0,0.1)"})
    -> (!qkv {pe.name = "o"}) {
  %d = pe.distance
  %bias = pe.linear %d slope(%slopes : tensor<?xf32>) {factor = -1.0}
  %window = pe.mask_fn(%before : tensor<?xi32>) expr "i - j < before[h]"
  %some = pe.mask_fn(%after : tensor<?xi32>) expr "j - i <= after[h] and (i + j) % 3 != 0"
  %mask = pe.mask_and %window, %some
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
