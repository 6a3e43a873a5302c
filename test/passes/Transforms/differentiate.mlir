// RUN: pe-opt %s --split-input-file --pe-differentiate | FileCheck %s

// One attention: forward ops, then their gradients; names of cotangents and gradients; zero
// gradients for an unread argument, none for integers.
// CHECK-LABEL: func @attention(
// CHECK-NOT:     attention_grad
// CHECK-LABEL: func private @attention_grad(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: tensor<?x?x?x64xf32> {pe.name = "q"},
// CHECK-SAME:    %[[S:[a-z0-9]+]]: tensor<?xf32> {pe.name = "s"},
// CHECK-SAME:    %[[U:[a-z0-9]+]]: tensor<f32> {pe.name = "unused"},
// CHECK-SAME:    %[[IDS:[a-z0-9]+]]: tensor<?xi32> {pe.name = "ids"},
// CHECK-SAME:    %[[DO:[a-z0-9]+]]: tensor<?x?x?x64xf32> {pe.name = "d_o"})
// CHECK-SAME:    -> (tensor<?x?x?x64xf32> {pe.name = "d_q"}, tensor<?xf32> {pe.name = "d_s"},
// CHECK-SAME:    tensor<f32> {pe.name = "d_unused"})
// CHECK-SAME:    attributes {pe.gradient_of = @attention}
// CHECK:         %[[B:.*]] = pe.bias_fn(%[[S]]
// CHECK:         %[[O:.*]] = pe.attention %[[Q]], %[[Q]], %[[Q]] bias(%[[B]])
// CHECK:         %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]], %[[A:.*]] = pe.attention_grad %[[O]], %[[DO]]
// CHECK:         %[[DQK:.*]] = arith.addf %[[DQ]], %[[DK]]
// CHECK:         %[[DQKV:.*]] = arith.addf %[[DQK]], %[[DV]]
// CHECK:         %[[DS:.*]] = pe.pullback %[[B]], %[[A]]
// CHECK:         %[[Z:.*]] = pe.zeros_like %[[U]]
// CHECK:         return %[[DQKV]], %[[DS]], %[[Z]]
func.func @attention(%q: tensor<?x?x?x64xf32> {pe.name = "q"}, %s: tensor<?xf32> {pe.name = "s"},
                     %unused: tensor<f32> {pe.name = "unused"}, %ids: tensor<?xi32> {pe.name = "ids"})
    -> (tensor<?x?x?x64xf32> {pe.name = "o"}) {
  %b = pe.bias_fn(%s : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>):
    %v = pe.read %t[%j] : tensor<?xf32>
    pe.yield %v : f32
  }
  %o = pe.attention %q, %q, %q bias(%b)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

// A bias that two attentions share is pulled back once, with the sum of its adjoints; the
// log-sum-exp has a cotangent; the second attention's query is the first one's result.
// CHECK-LABEL: func private @two_grad(
// CHECK-SAME:    %[[DP:[a-z0-9]+]]: tensor<?x?x?x64xf32> {pe.name = "d_p"},
// CHECK-SAME:    %[[DL:[a-z0-9]+]]: tensor<?x?x?xf32> {pe.name = "d_lse"}
// CHECK:         %[[O:.*]] = pe.attention
// CHECK:         %[[P:.*]], %[[L:.*]] = pe.attention
// CHECK:         %[[DO:.*]], %{{.*}}, %{{.*}}, %[[A2:.*]] = pe.attention_grad %[[P]], %[[DP]]
// CHECK-SAME:    lse(%[[DL]] : tensor<?x?x?xf32>)
// CHECK:         pe.attention_grad %[[O]], %[[DO]]
// CHECK-SAME:      !pe.adjoint
// CHECK:         %[[SUM:.*]] = pe.add_adjoints %[[A2]], %{{.*}}
// CHECK:         pe.pullback %{{.*}}, %[[SUM]]
// CHECK-NOT:     pe.pullback
func.func @two(%q: tensor<?x?x?x64xf32> {pe.name = "q"}, %k: tensor<?x?x?x64xf32> {pe.name = "k"},
               %s: tensor<?xf32> {pe.name = "s"})
    -> (tensor<?x?x?x64xf32> {pe.name = "p"}, tensor<?x?x?xf32> {pe.name = "lse"}) {
  %b = pe.bias_fn(%s : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>):
    %v = pe.read %t[%j] : tensor<?xf32>
    pe.yield %v : f32
  }
  %o = pe.attention %q, %k, %k bias(%b)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  %p, %l = pe.attention %o, %k, %k bias(%b)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
  return %p, %l : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}

// -----

// The adjoint of a score function follows those of the biases and is pulled back in the same way.
// CHECK-LABEL: func private @scored_grad(
// CHECK:         %[[S:.*]] = pe.score_fn(
// CHECK:         %{{.*}}, %{{.*}}, %{{.*}}, %[[A:.*]] = pe.attention_grad
// CHECK-SAME:      !pe.adjoint
// CHECK:         %[[DG:.*]] = pe.score_pullback %[[S]], %[[A]] : tensor<?xf32>
// CHECK:         return {{.*}}, %[[DG]]
func.func @scored(%q: tensor<?x?x?x64xf32> {pe.name = "q"}, %k: tensor<?x?x?x64xf32> {pe.name = "k"},
                  %v: tensor<?x?x?x64xf32> {pe.name = "v"}, %g: tensor<?xf32> {pe.name = "g"})
    -> (tensor<?x?x?x64xf32> {pe.name = "o"}) {
  %s = pe.score_fn(%g : tensor<?xf32>) expr "s * g[h]"
  %o = pe.attention %q, %k, %v score(%s)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

// Private functions have no gradient function.
// CHECK-LABEL: func private @helper
// CHECK-NOT:     func
func.func private @helper(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
