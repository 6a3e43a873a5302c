// Lowers a scalar function to loops over arrays, forward and backward, in vectors of the target's
// lanes with a masked remainder. The pass derives the gradient. Other functions stay unchanged.
//
// RUN: pe-opt %s --split-input-file --verify-diagnostics --pe-elementwise-to-vectors | FileCheck %s
// RUN: pe-opt %s --split-input-file --verify-diagnostics --pe-elementwise-to-vectors=machine=x86-64-v4 \
// RUN:   | FileCheck %s --check-prefix=V4

// CHECK-NOT: func.func @square(
// CHECK-LABEL: func.func @square_forward1(
// CHECK-SAME: memref<1xf32>, %{{.*}}: memref<1xf32>, %{{.*}}: index)
// CHECK: scf.for
// CHECK: %[[X:.*]] = vector.load {{.*}} vector<8xf32>
// CHECK: %[[Y:.*]] = arith.mulf %[[X]], %[[X]] : vector<8xf32>
// CHECK: vector.store %[[Y]]
// CHECK: scf.if
// CHECK: vector.maskedload
// CHECK: vector.maskedstore
// CHECK-LABEL: func.func @square_backward1(
// CHECK-SAME: memref<1xf32>, %{{.*}}: memref<1xf32>, %{{.*}}: memref<1xf32>, %{{.*}}: index)
// CHECK: arith.addf {{.*}} : vector<8xf32>
// V4-LABEL: func.func @square_forward1(
// V4: vector<16xf32>
func.func @square(%x: f32) -> f32 {
  %y = arith.mulf %x, %x : f32
  return %y : f32
}

// A function of two arguments has two gradients, each a separate array.
// CHECK-LABEL: func.func @product_forward2(
// CHECK-LABEL: func.func @product_backward2(
// CHECK-SAME: memref<1xf32>, %{{[a-z0-9]+}}: memref<1xf32>, %{{[a-z0-9]+}}: memref<1xf32>,
// CHECK-SAME: %{{[a-z0-9]+}}: memref<1xf32>, %{{[a-z0-9]+}}: memref<1xf32>, %{{[a-z0-9]+}}: index)
func.func @product(%a: f32, %b: f32) -> f32 {
  %y = arith.mulf %a, %b : f32
  return %y : f32
}

// CHECK-LABEL: func.func @not_of_numbers(
// CHECK: arith.negf %{{.*}} : vector<8xf32>
func.func @not_of_numbers(%x: vector<8xf32>) -> vector<8xf32> {
  %y = arith.negf %x : vector<8xf32>
  return %y : vector<8xf32>
}

// -----

func.func private @other(f32) -> f32
func.func @calls(%x: f32) -> f32 {
  // expected-error @below {{expected only scalar arith and math operations in a scalar function, found 'func.call'}}
  %y = call @other(%x) : (f32) -> f32
  return %y : f32
}
