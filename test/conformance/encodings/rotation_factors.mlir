// Frequencies shared by all heads, by a formula: a factor per pair, a ramp, and a sum over learned terms.
// Rotates part of the dims in adjacent pairs, with a magnitude, and leaves one pair unchanged.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %factor: tensor<?xf32> {pe.name = "factor", pe.init = "uniform(1,4)"},
                     %mix: tensor<?xf32> {pe.name = "mix", pe.init = "uniform(0.01,0.1)", pe.axes = ["terms"]},
                     %step: tensor<f32> {pe.name = "step", pe.init = 0.5})
    -> (!qkv {pe.name = "o"}) {
  %r = pe.rotation_fn(%factor, %mix, %step : tensor<?xf32>, tensor<?xf32>, tensor<f32>)
       attributes {interleaved = true, rotary_dims = 6, magnitude = 1.1}
       expr "let ramp = clamp((p - 1.5) / 3, 0, 1) in select(p == n - 1, 0, 1000 ^ (-p / n) * (1 - ramp + ramp / factor[p]) + sum(t < size(mix, 0), mix[t] * exp(-step * t * p)))"
  %m = pe.causal
  %o = pe.attention %q, %k, %v rotate(%r) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
