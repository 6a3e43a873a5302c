// One case per constraint of masks, and masks written as biases or biases as masks (docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

func.func @no_window() {
  // CHECK: expected at least one of left and right, found neither;
  // CHECK-SAME: {{^}} a window without bounds masks nothing (sliding_window-C1)
  // expected-error-re @below {{at least one of left and right, found neither;{{.*}}(sliding_window-C1)}}
  %m = pe.sliding_window
  return
}

// -----

func.func @empty_window() {
  // expected-error @below {{left to be at least 1, found 0; 1 keeps the query's own position (sliding_window-C2)}}
  %m = pe.sliding_window {left = 0}
  return
}

// -----

func.func @negative_window() {
  // expected-error @below {{left to be at least 1, found -3; 1 keeps the query's own position (sliding_window-C2)}}
  %m = pe.sliding_window {left = -3}
  return
}

// -----

func.func @negative_window_to_the_right() {
  // expected-error @below {{right to be at least 1, found -1; 1 keeps the query's own position (sliding_window-C2)}}
  %m = pe.sliding_window {left = 4, right = -1}
  return
}

// -----

func.func @prefix(%lengths: tensor<?xf32>) {
  // CHECK: expected captures of integers, which have no gradients, found 'tensor<?xf32>';
  // CHECK-SAME: {{^}} a condition on real numbers is a bias, select(condition, 0, -inf) in pe.bias_fn (mask_fn-C7)
  // expected-error-re @below {{captures of integers, which have no gradients, found 'tensor<?xf32>'{{.*}}(mask_fn-C7)}}
  %m = pe.mask_fn(%lengths : tensor<?xf32>) expr "j < lengths[b]"
  return
}

// -----

// A mask is a condition and a bias is a number. Each error names the op that accepts the other form.
func.func @mask_of_numbers() {
  // CHECK: expected a condition, found a number; a mask is only the condition, as in j <= i;
  // CHECK-SAME: {{^}} select(condition, 0, -inf) is a bias, for pe.bias_fn
  // expected-error-re @below {{a condition, found a number; a mask is only the condition,{{.*}}for pe.bias_fn}}
  %m = pe.mask_fn expr "select(j <= i, 0, -inf)"
  return
}

// -----

func.func @bias_of_a_condition() {
  // CHECK: expected a number, found a boolean; a bias is select(condition, 0, -inf);
  // CHECK-SAME: {{^}} the condition itself is a mask, for pe.mask_fn
  // expected-error-re @below {{a number, found a boolean; a bias is select(condition, 0, -inf);{{.*}}for pe.mask_fn}}
  %b = pe.bias_fn expr "j <= i"
  return
}

// -----

func.func @factor_of_a_condition() {
  // expected-error @below {{expected a number, found a boolean; use select(condition, a, b)}}
  %f = pe.factor_fn expr "j <= i"
  return
}

// -----

func.func @mask_region_of_numbers() {
  %m = pe.mask_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.constant 0.0 : f32
    // expected-error-re @below {{one i1 value, found 'f32'; a mask is only the condition,{{.*}}(mask_fn-C3)}}
    pe.yield %x : f32
  }
  return
}

// -----

func.func @bias_region_of_a_condition() {
  %0 = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.cmpi sle, %j, %i : index
    // expected-error-re @below {{one f32 value, found 'i1'; a bias is select(condition, 0, -inf);{{.*}}(bias_fn-C3)}}
    pe.yield %x : i1
  }
  return
}

// -----

func.func @code_of_parts() {
  %m = pe.causal
  // expected-error @below {{the code to be a pe.mask_fn, and code_bounds and blocks only with code (mask_parts-C1)}}
  %parts = pe.mask_parts code(%m)
  return
}

// -----

func.func @blocks_of_parts() {
  // expected-error @below {{the code to be a pe.mask_fn, and code_bounds and blocks only with code (mask_parts-C1)}}
  %parts = pe.mask_parts {blocks}
  return
}
