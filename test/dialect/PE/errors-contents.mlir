// One case per constraint of content terms (content_fn-C* of docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

func.func @arguments() {
  // expected-error @below {{6 region arguments (b, h, i, j, d, dim and one per capture), found 2 (content_fn-C1)}}
  %c = pe.content_fn {
  ^bb0(%b: index, %h: index):
    %x = arith.constant 1.0 : f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @types() {
  // expected-error @below {{expected region argument 4 to have type 'index', found 'i32' (content_fn-C2)}}
  %c = pe.content_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %d: i32, %dim: index):
    %x = arith.constant 1.0 : f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @yield() {
  %c = pe.content_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %d: index, %dim: index):
    // expected-error @below {{expected one f32 value, found 'index' (content_fn-C3)}}
    pe.yield %d : index
  }
  return
}

// -----

func.func @tensors(%t: tensor<33x?xf32>) {
  %c = pe.content_fn(%t : tensor<33x?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %d: index, %dim: index, %r: tensor<33x?xf32>):
    // expected-error @below {{(content_fn-C4)}}
    %x = tensor.extract %r[%d, %d] : tensor<33x?xf32>
    pe.yield %x : f32
  }
  return
}

// -----

func.func @operation() {
  %c = pe.content_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %d: index, %dim: index):
    %x = arith.constant 1.0 : f32
    // expected-error @below {{that every target has (docs/spec.md lists them), found 'math.asinh' (content_fn-C5)}}
    %y = math.asinh %x : f32
    pe.yield %y : f32
  }
  return
}

// -----

func.func @width() {
  %c = pe.content_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %d: index, %dim: index):
    // expected-error @below {{found 'f16'; compute in a wider type (content_fn-C6)}}
    %x = arith.constant 1.0 : f16
    %y = arith.extf %x : f16 to f32
    pe.yield %y : f32
  }
  return
}

// -----

func.func @network(%w1: tensor<4xf32>, %b1: tensor<4xf32>, %w2: tensor<1x4xf32>, %b2: tensor<1xf32>) {
  %c = pe.content_fn(%w1, %b1, %w2, %b2 : tensor<4xf32>, tensor<4xf32>, tensor<1x4xf32>, tensor<1xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %d: index, %dim: index, %v1: tensor<4xf32>, %a1: tensor<4xf32>,
       %v2: tensor<1x4xf32>, %a2: tensor<1xf32>):
    %x = arith.constant 1.0 : f32
    // expected-error @below {{expected no network in a content term (content_fn-C7)}}
    %y = pe.mlp_eval %x, %h layers(%v1, %a1, %v2, %a2 : tensor<4xf32>, tensor<4xf32>, tensor<1x4xf32>, tensor<1xf32>)
        : f32
    pe.yield %y : f32
  }
  return
}

// -----

func.func @clip(%t: tensor<32x?xf32>) {
  // CHECK: expected an index within an axis of size 32, found one from 0 to 32;
  // CHECK-SAME: {{^}} change the clip or the table (content_fn-C8)
  // expected-error-re @below {{an index within an axis of size 32, found one from 0 to 32;{{.*}}(content_fn-C8)}}
  %c = pe.content_fn(%t : tensor<32x?xf32>) expr "t[clamp(i - j, -16, 16) + 16, d]"
  return
}

// -----

func.func @no_angle() {
  %c = pe.content_fn attributes {structure = #pe.content<angles, "why">} {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %d: index, %dim: index):
    %x = arith.constant 1.0 : f32
    // expected-error @below {{expected two values of type f32, found 'f32' (content_fn-C3)}}
    pe.yield %x : f32
  }
  return
}

// -----

// expected-error @below {{expected the distances of class near to contain one, found [3, 2] (content-C1)}}
func.func private @no_distance() attributes {x = #pe.content<near [3, 2], "why">}
