// One case per constraint of pe.attention_grad and of the pullbacks (docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

func.func @no_attention(%o: tensor<?x?x?x64xf32>) {
  // expected-error@+1 {{expected the output of a pe.attention, found another value (attention_grad-C1)}}
  %dq, %dk, %dv = pe.attention_grad %o, %o : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
      -> (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
  return
}

// -----

func.func @adjoints(%q: tensor<?x?x?x64xf32>) {
  %o = pe.attention %q, %q, %q
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  // CHECK: expected one adjoint per bias, score function, and prologue, rotation, content term,
  // CHECK-SAME: {{^}} sink or factor with tensors, 0, found 1 (attention_grad-C2)
  // expected-error-re@+1 {{expected one adjoint per bias,{{.*}}with tensors, 0, found 1 (attention_grad-C2)}}
  %dq, %dk, %dv, %a = pe.attention_grad %o, %q : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
      -> (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, !pe.adjoint)
  return
}

// -----

func.func @types(%q: tensor<?x?x?x64xf32>) {
  %o = pe.attention %q, %q, %q
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  // CHECK: expected a gradient of type 'tensor<?x?x?x64xf32>' like the tensor it belongs to,
  // CHECK-SAME: {{^}} found 'tensor<?x?x?x32xf32>' (attention_grad-C3)
  // expected-error@+1 {{like the tensor it belongs to, found 'tensor<?x?x?x32xf32>' (attention_grad-C3)}}
  %dq, %dk, %dv = pe.attention_grad %o, %q : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
      -> (tensor<?x?x?x64xf32>, tensor<?x?x?x32xf32>, tensor<?x?x?x64xf32>)
  return
}

// -----

func.func @no_lse(%q: tensor<?x?x?x64xf32>, %l: tensor<?x?x?xf32>) {
  %o = pe.attention %q, %q, %q
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  // expected-error@+1 {{no cotangent of the log-sum-exp, which the attention does not compute (attention_grad-C4)}}
  %dq, %dk, %dv = pe.attention_grad %o, %q lse(%l : tensor<?x?x?xf32>) : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
      -> (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
  return
}

// -----

func.func @not_a_region(%a: !pe.adjoint) {
  %d = pe.distance
  %b = pe.linear %d {rule = #pe.slope_rule<geometric>}
  // expected-error@+1 {{expected a bias made by pe.bias_fn or pe.term, found another value (pullback-C1)}}
  pe.pullback %b, %a
  return
}

// -----

func.func @captures(%a: !pe.adjoint, %s: tensor<?xf32>) {
  %b = pe.bias_fn(%s : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>):
    %v = pe.read %t[%h] : tensor<?xf32>
    pe.yield %v : f32
  }
  // expected-error-re@+1 {{one gradient per capture of the bias,{{.*}}, found 'tensor<f32>' (pullback-C2)}}
  %g = pe.pullback %b, %a : tensor<f32>
  return
}

// -----

func.func @no_sink_gradient(%q: tensor<?x?x?x64xf32>, %s: tensor<?xf32>) {
  %o = pe.attention %q, %q, %q sink(%s : tensor<?xf32>)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  // expected-error-re@+1 {{expected sinks and dropout as values{{.*}}a tensor of sinks;{{.*}}(attention_grad-C5)}}
  %dq, %dk, %dv = pe.attention_grad %o, %q : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
      -> (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
  return
}

// -----

func.func @prologue_argument(%r: !pe.rotation, %a: !pe.adjoint) {
  // expected-error@+1 {{rotation or content term that an op defines, found another value (prologue_pullback-C1)}}
  %d = pe.prologue_pullback %r, %a : !pe.rotation -> tensor<?xf32>
  return
}

// -----

func.func @prologue_types(%b: tensor<?xf32>, %a: !pe.adjoint) {
  %r = pe.rotary %b : tensor<?xf32>
  // expected-error-re@+1 {{one gradient per tensor of the op,{{.*}}, found 'tensor<f32>' (prologue_pullback-C2)}}
  %d = pe.prologue_pullback %r, %a : !pe.rotation -> tensor<f32>
  return
}

// -----

func.func @weight_argument(%f: !pe.factor, %a: !pe.adjoint) {
  // expected-error@+1 {{expected the result of pe.factor_fn or pe.sink_fn, found another value (weight_pullback-C1)}}
  %d = pe.weight_pullback %f, %a : !pe.factor -> tensor<?xf32>
  return
}

// -----

func.func @weight_types(%t: tensor<?xf32>, %a: !pe.adjoint) {
  %s = pe.sink_fn(%t : tensor<?xf32>) expr "t[h]"
  // expected-error@+1 {{one gradient per capture, of types 'tensor<?xf32>', found 'tensor<f32>' (weight_pullback-C2)}}
  %d = pe.weight_pullback %s, %a : !pe.sink -> tensor<f32>
  return
}

// -----

func.func @dropout_gradient(%q: tensor<?x?x?x64xf32>, %seed: tensor<i64>) {
  %o = pe.attention %q, %q, %q dropout(0.5, %seed : tensor<i64>)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  // expected-error@+1 {{before differentiation, found dropout(...); run pe-expand-functions first (attention_grad-C5)}}
  %dq, %dk, %dv = pe.attention_grad %o, %q : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
      -> (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
  return
}
