// One case per constraint of regions (docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect
// RUN: not pe-opt %s --split-input-file --allow-unregistered-dialect 2>&1 | FileCheck %s

func.func @argument_count(%p: tensor<?xf32>) {
  // expected-error @below {{expected 5 region arguments (b, h, i, j and one per capture), found 4 (bias_fn-C1)}}
  %0 = pe.bias_fn(%p : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.constant 1.0 : f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @argument_type(%p: tensor<?xf32>) {
  // expected-error @below {{region argument 4 to have type 'tensor<?xf32>', found 'tensor<4xf32>' (bias_fn-C2)}}
  %0 = pe.bias_fn(%p : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %q: tensor<4xf32>):
    %x = arith.constant 1.0 : f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @yielded_type() {
  %0 = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    // expected-error @below {{expected one f32 value, found 'index' (bias_fn-C3)}}
    pe.yield %i : index
  }
  return
}

// -----

func.func @terminator() {
  // expected-error @below {{expected the region to end with pe.yield (bias_fn-C3)}}
  %0 = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    llvm.unreachable
  }
  return
}

// -----

func.func @foreign_op() {
  %0 = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    // CHECK: expected ops of arith, math or pe on single numbers, found 'test.op'; a region is scalar code;
    // CHECK-SAME: {{^}} read tensors with pe.read (bias_fn-C4)
    // expected-error-re @below {{on single numbers, found 'test.op'; a region is scalar code;{{.*}}(bias_fn-C4)}}
    %x = "test.op"() : () -> f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @tensor_op(%p: tensor<?xf32>) {
  %0 = pe.bias_fn(%p : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %q: tensor<?xf32>):
    // expected-error @below {{expected ops of arith, math or pe on single numbers, found 'math.exp'}}
    %y = math.exp %q : tensor<?xf32>
    %x = pe.read %y[%h] : tensor<?xf32>
    pe.yield %x : f32
  }
  return
}

// -----

// Captures are explicit: the region cannot use values from outside.
func.func @implicit_capture(%p: tensor<?xf32>) {
  // expected-note @below {{required by region isolation constraints}}
  %0 = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    // expected-error @below {{using value defined outside the region}}
    %x = pe.read %p[%h] : tensor<?xf32>
    pe.yield %x : f32
  }
  return
}

// -----

func.func @read_rank(%t: tensor<32x?xf32>, %i: index) {
  // expected-error @below {{expected one index per dimension of 'tensor<32x?xf32>', found 1 (read-C1)}}
  %x = pe.read %t[%i] : tensor<32x?xf32>
  return
}

// -----

func.func @read_out_of_range(%t: tensor<32x?xf32>, %h: index) {
  %i = arith.constant 32 : index
  // expected-error @below {{expected index 0 to be in [0, 32), found 32 (read-C2)}}
  %x = pe.read %t[%i, %h] : tensor<32x?xf32>
  return
}

// -----

func.func @unknown_op() {
  %b = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c = arith.constant 1.0 : f32
    // CHECK: expected an op of arith or math that every target has (docs/spec.md lists them),
    // CHECK-SAME: {{^}} found 'math.asinh' (bias_fn-C5)
    // expected-error @below {{that every target has (docs/spec.md lists them), found 'math.asinh' (bias_fn-C5)}}
    %x = math.asinh %c : f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @narrow_integer() {
  %b = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c = arith.constant 1.0 : f32
    // CHECK: expected numbers of type f32, f64, i1, i8, i16, i32, i64 or index, found 'i7';
    // CHECK-SAME: {{^}} compute in a wider type (bias_fn-C6)
    // expected-error @below {{i64 or index, found 'i7'; compute in a wider type (bias_fn-C6)}}
    %x = arith.index_cast %i : index to i7
    pe.yield %c : f32
  }
  return
}

// -----

func.func @narrow_float() {
  %b = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c = arith.constant 1.0 : f32
    // expected-error @below {{i64 or index, found 'bf16'; compute in a wider type (bias_fn-C6)}}
    %x = arith.truncf %c : f32 to bf16
    pe.yield %c : f32
  }
  return
}

// -----

func.func @score_argument_count() {
  // expected-error @below {{expected 5 region arguments (s, b, h, i, j and one per capture), found 4 (score_fn-C1)}}
  %0 = pe.score_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.constant 1.0 : f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @score_argument_type() {
  // expected-error @below {{expected region argument 0 to have type 'f32', found 'index' (score_fn-C2)}}
  %0 = pe.score_fn {
  ^bb0(%s: index, %b: index, %h: index, %i: index, %j: index):
    %x = arith.constant 1.0 : f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @score_yielded_type() {
  %0 = pe.score_fn {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    // expected-error @below {{expected one f32 value, found 'index' (score_fn-C3)}}
    pe.yield %i : index
  }
  return
}

// -----

func.func @score_foreign_op() {
  %0 = pe.score_fn {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    // expected-error-re @below {{on single numbers, found 'test.op'; a region is scalar code;{{.*}}(score_fn-C4)}}
    %x = "test.op"() : () -> f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @score_per_query() {
  // expected-error @below {{expected a function per query not to read j (score_fn-C7)}}
  %s = pe.score_fn attributes {per_query} expr "s * exp(j - i)"
  return
}
