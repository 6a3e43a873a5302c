// Errors in a formula are located at its characters.
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: errors-expression.mlir:[[#@LINE+1]]:51: error: {{.*}}unknown function 'exq'; did you mean exp?
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "1 + exq(i - j)"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:51: error: {{.*}}expected a function of abs, {{.*}}; found 'frobnicate'
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "1 + frobnicate(i - j)"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:56: error: {{.*}}expected a number, a name or '(', found the end
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[h] + "
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:54: error: {{.*}}expected an operator or the end, found ']'
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[h] ]"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:55: error: {{.*}}expected an operator, ',' or ')', found the end
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "max(i, j"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:47: error: {{.*}}expected b, h, i, j, heads_total, pi, inf or a captured tensor, found 'tau'
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "tau"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:47: error: {{.*}}expected 1 index, as in amp[h], found none
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "amp"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:47: error: {{.*}}expected 1 index of amp, found 2
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[h, i]"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:47: error: {{.*}}expected a captured tensor (amp), found 'i'
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "i[h]"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+2]]:53: error: {{.*}}expected an integer as index, found a real number;
  // CHECK-SAME: {{^}} use a // b for the quotient rounded down, or int(x)
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "amp[i / j]"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:49: error: {{.*}}expected a number, found a boolean; a bias is select(condition, 0, -inf)
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "i > j"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:55: error: {{.*}}expected numbers, found a boolean; only select, and, or and not take booleans
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "(i > j) + 1"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:47: error: {{.*}}expected a boolean such as i > j in select
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "select(i, 1, 2)"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:47: error: {{.*}}expected 3 arguments of select, found 2
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "select(i > j, 2)"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:47: error: {{.*}}expected 2 argument(s) of max, found 3
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "max(i, j, 1)"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:47: error: {{.*}}expected two numbers or two booleans to select from
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "select(i > j, i > j, 1)"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:47: error: {{.*}}expected an integer as the head, found a real number
  %0 = pe.bias_fn(%c : tensor<f32>) expr     "global_head(c)"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:47: error: {{.*}}expected an integer of at most 10^15
  %0 = pe.bias_fn(%c : tensor<f32>) expr     "9999999999999999"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:47: error: {{.*}}expected a number that fits into f64
  %0 = pe.bias_fn(%c : tensor<f32>) expr     "1e999"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:46: error: {{.*}}expected a formula without escape characters
  %0 = pe.bias_fn(%c : tensor<f32>) expr     "\41"
}
// -----
func.func @f(%i: tensor<f32>) {
  // CHECK: :[[#@LINE+2]]:19: error: {{.*}}expected a capture with a unique name, found %i; b, h, i, j are reserved,
  // CHECK-SAME: {{^}} and a tensor is captured once
  %0 = pe.bias_fn(%i : tensor<f32>) expr "i"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:18: error: {{.*}}expected one type per capture, found 1 for 2
  %0 = pe.bias_fn(%amp, %c : tensor<f32>) expr "c"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:51: error: {{.*}}expected a name that is not in use, found 'h'
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "let h = 1 in h"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:51: error: {{.*}}expected a name that is not in use, found 'pi'
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "let pi = 3 in pi"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:51: error: {{.*}}expected a name that is not in use, found 'amp'
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "sum(amp < 3, i)"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+2]]:47: error: {{.*}}expected an index with its bound and a summand, as in
  // CHECK-SAME: {{^}} sum(k < 8, a{{\[}}k{{\]}} * i ^ k)
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "sum(amp[h], i)"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+2]]:55: error: {{.*}}expected an integer up to 4096 or
  // CHECK-SAME: {{^}} size(name, axis) of a captured tensor as the bound of a sum
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "sum(k < 5000, i)"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+2]]:55: error: {{.*}}expected an integer up to 4096 or
  // CHECK-SAME: {{^}} size(name, axis) of a captured tensor as the bound of a sum
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "sum(k < size(amp, 1), i)"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+2]]:55: error: {{.*}}expected an integer up to 4096 or
  // CHECK-SAME: {{^}} size(name, axis) of a captured tensor as the bound of a sum
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "sum(k < size(i, 0), i)"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:63: error: {{.*}}expected b, h, i, j, heads_total, pi, inf or a captured tensor, found 'k'
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "sum(k < 3, k) + k"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:49: error: {{.*}}expected a boolean such as i > j in and
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "i and i > j"
}
// -----
func.func @f(%amp: tensor<?xf32>, %c: tensor<f32>) {
  // CHECK: :[[#@LINE+1]]:55: error: {{.*}}expected numbers, found a boolean
  %0 = pe.bias_fn(%amp : tensor<?xf32>) expr "(i > j) // 2"
}
// -----
func.func @f() {
  // CHECK: :[[#@LINE+2]]:25: error: {{.*}}expected a captured tensor; no tensor is captured;
  // CHECK-SAME: {{^}} write (%table : tensor<?xf32>) before expr, found 'amp'
  %0 = pe.bias_fn expr "amp[h]"
}
