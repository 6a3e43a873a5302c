// RUN: pe-opt %s --pe-call-libm-near-zero | FileCheck %s
// RUN: pe-opt %s --pe-call-libm-near-zero | pe-opt --pe-call-libm-near-zero | FileCheck %s

// CHECK-DAG: func.func private @expm1(f64) -> f64
// CHECK-DAG: func.func private @log1pf(f32) -> f32
// CHECK-LABEL: func.func @near_zero(
// CHECK-SAME: %[[X:.*]]: f64, %[[Y:.*]]: f32
// CHECK: call @expm1(%[[X]])
// CHECK: call @log1pf(%[[Y]])
// Other ops stay: LLVM has intrinsics for them, or the next pass calls libm.
// CHECK: math.exp %[[X]]
// CHECK: math.log %[[Y]]
func.func @near_zero(%x: f64, %y: f32) -> (f64, f32, f64, f32) {
  %0 = math.expm1 %x : f64
  %1 = math.log1p %y : f32
  %2 = math.exp %x : f64
  %3 = math.log %y : f32
  return %0, %1, %2, %3 : f64, f32, f64, f32
}
