// RUN: pe-opt %s --split-input-file --pe-differentiate --verify-diagnostics

func.func @no_rule(%q: tensor<?x?x?x64xf32>, %s: tensor<?xf32>) -> tensor<?x?x?x64xf32> {
  %b = pe.bias_fn(%s : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>):
    %x = pe.read %t[%h] : tensor<?xf32>
    // expected-error-re@+1 {{expected an op of arith or math that every target{{.*}}found 'math.sincos' (bias_fn-C5)}}
    %v, %w = math.sincos %x : f32
    pe.yield %v : f32
  }
  %o = pe.attention %q, %q, %q bias(%b)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

func.func @not_expanded(%q: tensor<?x?x?x64xf32>, %s: tensor<?xf32>) -> tensor<?x?x?x64xf32> {
  %d = pe.distance
  // expected-error@+1 {{'pe.linear' op expected every bias to be a pe.bias_fn before differentiation}}
  %b = pe.linear %d slope(%s : tensor<?xf32>)
  %o = pe.attention %q, %q, %q bias(%b)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

func.func @other_op(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error-re@+1 {{'math.exp' op expected{{.*}}found an operation without a derivative at this level}}
  %y = math.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// expected-error@+1 {{expected no function named 'f_grad', the name of the gradient of 'f'; rename it}}
func.func private @f_grad(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
