// Every bias of an attention becomes one region of scalar code, whatever ops it consists of.
// RUN: pe-opt %s --pe-expand-biases --split-input-file | FileCheck %s

!qkv = tensor<?x?x?x?xf32>

// A linear function of the distance.
// CHECK-LABEL: func @linear
// CHECK-SAME:    %[[Q:.*]]: tensor<?x?x?x?xf32>, %[[S:.*]]: tensor<?xf32>
func.func @linear(%q: !qkv, %s: tensor<?xf32>) -> !qkv {
  // CHECK-NEXT: %[[F:.*]] = pe.bias_fn(%[[S]] : tensor<?xf32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index, %[[C:.*]]: tensor<?xf32>):
  // CHECK-NEXT:   %[[FACTOR:.*]] = arith.constant -1.0
  // CHECK-NEXT:   %[[REL:.*]] = arith.subi %[[I]], %[[J]] : index
  // CHECK-NEXT:   %[[INT:.*]] = arith.index_cast %[[REL]] : index to i32
  // CHECK-NEXT:   %[[FLOAT:.*]] = arith.sitofp %[[INT]] : i32 to f32
  // CHECK-NEXT:   %[[D:.*]] = math.absf %[[FLOAT]] : f32
  // CHECK-NEXT:   %[[SLOPE:.*]] = pe.read %[[C]][%[[H]]] : tensor<?xf32>
  // CHECK-NEXT:   %[[X:.*]] = arith.mulf %[[SLOPE]], %[[D]] : f32
  // CHECK-NEXT:   %[[Y:.*]] = arith.mulf %[[X]], %[[FACTOR]] : f32
  // CHECK-NEXT:   pe.yield %[[Y]] : f32
  // CHECK-NEXT: }
  %x = pe.distance
  %b = pe.linear %x slope(%s : tensor<?xf32>) {factor = -1.0}
  // CHECK-NEXT: pe.attention %[[Q]], %[[Q]], %[[Q]] bias(%[[F]])
  %o = pe.attention %q, %q, %q bias(%b) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

// One region per bias of the attention's list; a sum inside one bias remains one region. The common
// coordinate is computed once in each.
// CHECK-LABEL: func @terms
func.func @terms(%q: !qkv, %s: tensor<?xf32>, %t: tensor<f32>) -> !qkv {
  // CHECK:     %[[B:.*]] = pe.bias_fn(%{{.*}} : tensor<f32>)
  // CHECK:     pe.read %{{.*}}[] : tensor<f32>
  // CHECK:     %[[A:.*]] = pe.bias_fn(%{{.*}}, %{{.*}} : tensor<?xf32>, tensor<f32>)
  // CHECK-COUNT-1: arith.subi
  // CHECK-NOT: arith.subi
  // CHECK:     arith.addf
  // CHECK-NOT: pe.linear
  %x = pe.distance
  %b0 = pe.linear %x slope(%s : tensor<?xf32>)
  %b1 = pe.linear %x slope(%t : tensor<f32>)
  %sum = pe.add %b0, %b1
  // CHECK:     pe.attention %{{.*}} bias(%[[A]], %[[B]])
  %o = pe.attention %q, %q, %q bias(%sum, %b1) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

// A bias that two attentions share remains one value, so that its gradients are added before the pullback.
// CHECK-LABEL: func @shared
func.func @shared(%q: !qkv, %s: tensor<?xf32>) -> (!qkv, !qkv) {
  // CHECK:     %[[F:.*]] = pe.bias_fn
  // CHECK-NOT: pe.bias_fn
  %x = pe.distance
  %b = pe.linear %x slope(%s : tensor<?xf32>)
  // CHECK:     pe.attention %{{.*}} bias(%[[F]])
  // CHECK:     pe.attention %{{.*}} bias(%[[F]], %[[F]])
  %o = pe.attention %q, %q, %q bias(%b) : (!qkv, !qkv, !qkv) -> !qkv
  %o2 = pe.attention %q, %q, %q bias(%b, %b) : (!qkv, !qkv, !qkv) -> !qkv
  return %o, %o2 : !qkv, !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

// A user's region is kept unchanged, and inlined if it is part of a sum.
// CHECK-LABEL: func @user_region
func.func @user_region(%q: !qkv, %s: tensor<?xf32>) -> !qkv {
  // CHECK:      %[[F:.*]] = pe.bias_fn(%{{.*}} : tensor<?xf32>) {
  // CHECK-NEXT: ^bb0(
  // CHECK-NEXT:   pe.read
  // CHECK-NEXT:   pe.yield
  %f = pe.bias_fn(%s : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %p: tensor<?xf32>):
    %v = pe.read %p[%h] : tensor<?xf32>
    pe.yield %v : f32
  }
  // CHECK:      %[[G:.*]] = pe.bias_fn(%{{.*}} : tensor<?xf32>) {
  // CHECK:        %[[V:.*]] = pe.read
  // CHECK-NEXT:   %[[W:.*]] = arith.mulf %[[V]], %{{.*}}
  // CHECK-NEXT:   pe.yield %[[W]]
  %g = pe.scale %f {factor = 2.0}
  // CHECK:      pe.attention %{{.*}} bias(%[[F]], %[[G]])
  %o = pe.attention %q, %q, %q bias(%f, %g) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

// A constant parameter is folded into the region.
// CHECK-LABEL: func @constant
func.func @constant(%q: !qkv) -> !qkv {
  // CHECK:      pe.bias_fn {
  // CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index):
  // CHECK-NEXT:   %[[C:.*]] = arith.constant 2.5
  // CHECK-NOT:    pe.read
  // CHECK:        arith.mulf %{{.*}}, %[[C]]
  %s = arith.constant dense<2.5> : tensor<f32>
  %x = pe.distance
  %b = pe.linear %x slope(%s : tensor<f32>)
  %o = pe.attention %q, %q, %q bias(%b) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

// The same if a user's region captures it.
// CHECK-LABEL: func @captured_constant
func.func @captured_constant(%q: !qkv) -> !qkv {
  // CHECK:      pe.bias_fn {
  // CHECK:        %[[C:.*]] = arith.constant 2.5
  // CHECK:        pe.yield %[[C]]
  %s = arith.constant dense<2.5> : tensor<f32>
  %f = pe.bias_fn(%s : tensor<f32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %p: tensor<f32>):
    %v = pe.read %p[] : tensor<f32>
    pe.yield %v : f32
  }
  %o = pe.attention %q, %q, %q bias(%f) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

// No bias, no change.
// CHECK-LABEL: func @no_bias
// CHECK-NEXT:    pe.causal
// CHECK-NEXT:    pe.attention
// CHECK-NEXT:    return
func.func @no_bias(%q: !qkv) -> !qkv {
  %m = pe.causal
  %o = pe.attention %q, %q, %q mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
