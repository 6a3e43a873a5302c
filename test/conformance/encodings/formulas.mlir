// All features of formulas: sums over an index, let, booleans, floor division, smooth functions, and
// captured coordinates with their gradients.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %c: tensor<f32> {pe.name = "c", pe.init = 0.1},
                     %fade: tensor<?xf32> {pe.name = "fade", pe.init = "normal(0.5)"},
                     %u: tensor<4x?xf32> {pe.name = "u", pe.init = "normal(0.5)"},
                     %w: tensor<4xf32> {pe.name = "w", pe.init = "uniform(0.1,0.4)"})
    -> (!qkv {pe.name = "o"}) {
  %t = pe.log_distance c(%c : tensor<f32>)
  %faded = pe.bias_fn(%fade, %t : tensor<?xf32>, !pe.coordinate)
      expr "fade[h] * sigmoid(t - 1) + log1p(t)"
  %waves = pe.bias_fn(%u, %w : tensor<4x?xf32>, tensor<4xf32>)
      expr "let d = i - j in sum(k < size(w, 0), u[k, h] * cos(w[k] * d + k * pi / 2)) + relu(u[1, h] * (8 - d) / 16)"
  %blocks = pe.bias_fn(%fade, %w : tensor<?xf32>, tensor<4xf32>)
      expr "select(i // 4 == j // 4 and not j % 3 == 1 or i < 2, softplus(fade[h] * (j % 5)), sum(n < 3, w[n] ^ (n + 1) * (i % (n + 2) - j % (n + 2)))) + sign(i % 2 - j % 2) / 8"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%faded, %waves, %blocks) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
