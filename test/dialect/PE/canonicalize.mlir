// Identities fold, and CSE merges equal leaves.
// RUN: pe-opt %s --canonicalize --cse | FileCheck %s

!qkv = tensor<?x?x?x?xf32>

// A scale by 1 and a mask combined with itself fold.
// CHECK-LABEL: func @folds
func.func @folds(%q: !qkv, %s: tensor<?xf32>) -> !qkv {
  // CHECK-NOT: pe.scale
  // CHECK-NOT: pe.mask_and
  // CHECK-NOT: pe.mask_or
  %x = pe.distance
  // CHECK: %[[B:.*]] = pe.linear
  %b = pe.linear %x slope(%s : tensor<?xf32>)
  %b1 = pe.scale %b {factor = 1.0}
  // CHECK: %[[M:.*]] = pe.causal
  %m = pe.causal
  %m1 = pe.mask_and %m, %m
  %m2 = pe.mask_or %m1, %m1
  // CHECK: pe.attention %{{.*}} bias(%[[B]]) mask(%[[M]])
  %o = pe.attention %q, %q, %q bias(%b1) mask(%m2) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// CSE merges two equal leaves.
// CHECK-LABEL: func @equal_leaves
func.func @equal_leaves(%q: !qkv, %s: tensor<?xf32>) -> !qkv {
  // CHECK-COUNT-1: pe.distance
  // CHECK-NOT: pe.distance
  %x = pe.distance
  %y = pe.distance
  // CHECK: %[[B:.*]] = pe.linear
  %a = pe.linear %x slope(%s : tensor<?xf32>)
  %b = pe.linear %y slope(%s : tensor<?xf32>)
  // CHECK: pe.attention %{{.*}} bias(%[[B]], %[[B]])
  %o = pe.attention %q, %q, %q bias(%a, %b) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// A read of a splat folds at any index.
// CHECK-LABEL: func @read_of_splat
func.func @read_of_splat(%h: index) -> f32 {
  // CHECK: %[[C:.*]] = arith.constant 5.000000e-01 : f32
  // CHECK: return %[[C]]
  %t = arith.constant dense<0.5> : tensor<4xf32>
  %x = pe.read %t[%h] : tensor<4xf32>
  return %x : f32
}

// A read of any constant folds at a constant index.
// CHECK-LABEL: func @read_of_element
func.func @read_of_element() -> f32 {
  // CHECK: %[[C:.*]] = arith.constant 4.000000e+00 : f32
  // CHECK: return %[[C]]
  %row = arith.constant 1 : index
  %column = arith.constant 0 : index
  %t = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %x = pe.read %t[%row, %column] : tensor<2x3xf32>
  return %x : f32
}

// A read of a non-splat constant does not fold at an unknown index.
// CHECK-LABEL: func @read_of_unknown
func.func @read_of_unknown(%h: index) -> f32 {
  // CHECK: pe.read
  %t = arith.constant dense<[0.5, 1.0]> : tensor<2xf32>
  %x = pe.read %t[%h] : tensor<2xf32>
  return %x : f32
}
