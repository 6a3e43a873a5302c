// FIRE-S: layers that share one FIRE. Two attentions with separate tensors read the same bias. Its
// tables are built once, and the gradients of its parameters are summed over both.
//
// Li et al. 2023, arXiv 2310.04418, section 4.1 ("FIRE-S": shared across layers). Layers in
// separate calls can share prepared tables (docs/c-api.md, PE_PREPARE).
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q1: !qkv {pe.name = "q1"}, %k1: !qkv {pe.name = "k1"}, %v1: !qkv {pe.name = "v1"},
                     %q2: !qkv {pe.name = "q2"}, %k2: !qkv {pe.name = "k2"}, %v2: !qkv {pe.name = "v2"},
                     %c: tensor<f32> {pe.name = "c", pe.init = 0.1},
                     %L: tensor<f32> {pe.name = "L_multiplier", pe.init = 1.0},
                     %w1: tensor<32xf32> {pe.name = "w1", pe.init = "linear"},
                     %b1: tensor<32xf32> {pe.name = "b1", pe.init = "linear"},
                     %w2: tensor<?x32xf32> {pe.name = "w2", pe.init = "linear"},
                     %b2: tensor<?xf32> {pe.name = "b2", pe.init = "linear(32)"})
    -> (!qkv {pe.name = "o1"}, !qkv {pe.name = "o2"}) {
  %t = pe.progressive c(%c : tensor<f32>) threshold(%L : tensor<f32>)
         {initial_length = 512.0, epsilon = 1.0e-6}
  %bias = pe.mlp %t layers(%w1, %b1, %w2, %b2
                           : tensor<32xf32>, tensor<32xf32>, tensor<?x32xf32>, tensor<?xf32>)
            {activation = #pe.activation<relu>}
  %mask = pe.causal
  %o1 = pe.attention %q1, %k1, %v1 bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  %o2 = pe.attention %q2, %k2, %v2 bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o1, %o2 : !qkv, !qkv
}
