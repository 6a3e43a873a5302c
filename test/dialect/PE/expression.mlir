// A formula is syntactic sugar for a region. The parser expands it.
// RUN: pe-opt %s --verify-roundtrip | FileCheck %s
// RUN: pe-opt %s --mlir-print-debuginfo | FileCheck %s --check-prefix=LOC

// CHECK-LABEL: func @bump
// LOC-LABEL: func.func @bump
func.func @bump(%amp: tensor<?xf32>, %tau: tensor<?xf32>) {
  // CHECK-NEXT: pe.bias_fn(%{{.*}}, %{{.*}} : tensor<?xf32>, tensor<?xf32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index,
  // CHECK-SAME:      %[[AMP:.*]]: tensor<?xf32>, %[[TAU:.*]]: tensor<?xf32>):
  // CHECK-NEXT:   %[[A:.*]] = pe.read %[[AMP]][%[[H]]] : tensor<?xf32>
  // CHECK-NEXT:   %[[D:.*]] = arith.subi %[[I]], %[[J]] : index
  // CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
  // CHECK-NEXT:   %[[OPPOSITE:.*]] = arith.subi %[[C0]], %[[D]] : index
  // CHECK-NEXT:   %[[ABS:.*]] = arith.maxsi %[[D]], %[[OPPOSITE]] : index
  // CHECK-NEXT:   %[[C0:.*]] = arith.constant 0 : index
  // CHECK-NEXT:   %[[NEG:.*]] = arith.subi %[[C0]], %[[ABS]] : index
  // CHECK-NEXT:   %[[T:.*]] = pe.read %[[TAU]][%[[H]]] : tensor<?xf32>
  // Lowerings use 32 bits where they suffice.
  // CHECK-NEXT:   %[[INT:.*]] = arith.index_cast %[[NEG]] : index to i64
  // CHECK-NEXT:   %[[REAL:.*]] = arith.sitofp %[[INT]] : i64 to f32
  // CHECK-NEXT:   %[[RATIO:.*]] = arith.divf %[[REAL]], %[[T]] : f32
  // CHECK-NEXT:   %[[EXP:.*]] = math.exp %[[RATIO]] : f32
  // CHECK-NEXT:   %[[Y:.*]] = arith.mulf %[[A]], %[[EXP]] : f32
  // CHECK-NEXT:   pe.yield %[[Y]] : f32
  // CHECK-NEXT: }
  // Ops have the locations of their characters.
  // LOC: math.exp {{.*}} loc(#[[EXP:.*]])
  // LOC: #[[EXP]] = loc("{{.*}}expression.mlir":[[#@LINE+2]]:25)
  %0 = pe.bias_fn(%amp, %tau : tensor<?xf32>, tensor<?xf32>)
         expr "amp[h] * exp(-abs(i - j) / tau[h])"
  return
}

// Integers index tensors; a product of positions needs 64 bits.
// CHECK-LABEL: func @table
func.func @table(%table: tensor<32x?xf32>, %c: tensor<f32>) {
  // CHECK:      %[[NEAR:.*]] = arith.cmpi slt
  // CHECK:      %[[ROW:.*]] = arith.minsi
  // CHECK:      %[[READ:.*]] = pe.read %{{.*}}[%[[ROW]], %{{.*}}] : tensor<32x?xf32>
  // CHECK:      %[[C:.*]] = pe.read %{{.*}}[] : tensor<f32>
  // CHECK-NEXT: %[[PRODUCT:.*]] = arith.muli
  // CHECK-NEXT: %[[WIDE:.*]] = arith.index_cast %[[PRODUCT]] : index to i64
  // CHECK-NEXT: %[[REAL:.*]] = arith.sitofp %[[WIDE]] : i64 to f32
  // CHECK-NEXT: %[[FAR:.*]] = arith.mulf %[[C]], %[[REAL]] : f32
  // CHECK-NEXT: arith.select %[[NEAR]], %[[READ]], %[[FAR]] : f32
  %0 = pe.bias_fn(%table, %c : tensor<32x?xf32>, tensor<f32>)
         expr "select(i - j < 32, table[min(i - j, 31), h], c * (i * j))"
  return
}

// Operator precedence: -(c^2) + 2 * (c^(c^3)). Powers of small integers are products, and no unused
// ops remain.
// CHECK-LABEL: func @operators
func.func @operators(%c: tensor<f32>) {
  // CHECK:      %[[C1:.*]] = pe.read
  // CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[C1]], %[[C1]]
  // CHECK-NEXT: %[[MINUS:.*]] = arith.negf %[[SQUARE]]
  // CHECK-NEXT: %[[C2:.*]] = pe.read
  // CHECK-NEXT: %[[C3:.*]] = pe.read
  // CHECK-NEXT: %[[C3SQUARE:.*]] = arith.mulf %[[C3]], %[[C3]]
  // CHECK-NEXT: %[[CUBE:.*]] = arith.mulf %[[C3SQUARE]], %[[C3]]
  // CHECK-NEXT: %[[POWER:.*]] = math.powf %[[C2]], %[[CUBE]]
  // CHECK-NEXT: %[[TWO:.*]] = arith.constant 2.0{{.*}} : f32
  // CHECK-NEXT: %[[TWICE:.*]] = arith.mulf %[[TWO]], %[[POWER]]
  // CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[MINUS]], %[[TWICE]]
  // CHECK-NEXT: pe.yield %[[SUM]]
  %0 = pe.bias_fn(%c : tensor<f32>) expr "-c^2 + 2 * c^c^3"
  return
}

// Every function, and attributes before the formula.
// CHECK-LABEL: func @functions
func.func @functions(%c: tensor<f32>) {
  // CHECK: pe.bias_fn(%{{.*}} : tensor<f32>) attributes {test.note} {
  // CHECK: math.absf
  // CHECK: math.cos
  // CHECK: math.erf
  // CHECK: math.exp
  // CHECK: math.floor
  // CHECK: math.log
  // CHECK: arith.maximumf
  // CHECK: arith.minimumf
  // CHECK: pe.bias_fn(%{{.*}} : tensor<f32>) attributes {test.note} {
  // CHECK: math.powf
  // CHECK: math.sin
  // CHECK: math.sqrt
  // CHECK: math.tanh
  // CHECK: pe.global_head
  // CHECK: pe.heads_total
  // CHECK: pe.bias_fn(%{{.*}} : tensor<f32>) attributes {test.note} {
  // CHECK: arith.cmpf oge
  // CHECK: arith.xori
  %0 = pe.bias_fn(%c : tensor<f32>) attributes {test.note}
         expr "abs(c) + cos(c) + erf(c) + exp(c) + floor(c) + log(c) + max(c, 1) + min(c, i)"
  %1 = pe.bias_fn(%c : tensor<f32>) attributes {test.note}
         expr "pow(c, 2.5) + sin(c) + sqrt(c) + tanh(c) + global_head(h) / heads_total"
  %2 = pe.bias_fn(%c : tensor<f32>) attributes {test.note}
         expr "select(not(and(c >= 1, i == j)), clamp(c, 0, 1), int(c))"
  return
}

// The quotient is rounded down, and the remainder has the sign of the divisor.
// CHECK-LABEL: func @quotients
func.func @quotients(%c: tensor<f32>) {
  // CHECK:      %[[FOUR:.*]] = arith.constant 4 : index
  // CHECK-NEXT: %[[Q:.*]] = arith.floordivsi %[[I:.*]], %[[FOUR]] : index
  // CHECK:      %[[THREE:.*]] = arith.constant 3 : index
  // CHECK-NEXT: %[[P:.*]] = arith.floordivsi %[[Q]], %[[THREE]] : index
  // CHECK-NEXT: %[[M:.*]] = arith.muli %[[P]], %[[THREE]] : index
  // CHECK-NEXT: arith.subi %[[Q]], %[[M]] : index
  // CHECK:      %[[X:.*]] = pe.read
  // CHECK:      %[[RATIO:.*]] = arith.divf %[[X]], %[[Y:.*]] : f32
  // CHECK-NEXT: %[[DOWN:.*]] = math.floor %[[RATIO]] : f32
  // CHECK-NEXT: %[[BACK:.*]] = arith.mulf %[[DOWN]], %[[Y]] : f32
  // CHECK-NEXT: arith.subf %[[X]], %[[BACK]] : f32
  %0 = pe.bias_fn(%c : tensor<f32>) expr "(i // 4) % 3 + c % 1.5"
  return
}

// CHECK-LABEL: func @conditions
func.func @conditions(%c: tensor<f32>) {
  // CHECK: %[[A:.*]] = arith.cmpi sgt
  // CHECK: %[[B:.*]] = arith.cmpi eq
  // CHECK: %[[NOT:.*]] = arith.xori %[[B]], %true
  // CHECK: %[[AND:.*]] = arith.andi %[[A]], %[[NOT]] : i1
  // CHECK: %[[C:.*]] = arith.cmpi slt
  // CHECK: arith.ori %[[AND]], %[[C]] : i1
  // CHECK: arith.constant 3.14159274 : f32
  // CHECK: arith.constant 0x7F800000 : f32
  %0 = pe.bias_fn(%c : tensor<f32>) expr "select(i > j and not j == 3 or i < 2, pi, -inf) + c"
  return
}

// A value of let is computed once.
// CHECK-LABEL: func @let
func.func @let(%c: tensor<f32>) {
  // CHECK: %[[C:.*]] = pe.read
  // CHECK: %[[X:.*]] = math.exp %[[C]]
  // CHECK-NEXT: arith.mulf %[[X]], %[[X]]
  // CHECK-NOT: math.exp
  %0 = pe.bias_fn(%c : tensor<f32>) expr "let x = exp(c) in x * x"
  return
}

// Code that does not depend on the index is emitted before the sum, here i - j and amp[h].
// CHECK-LABEL: func @sums
func.func @sums(%amp: tensor<?xf32>, %u: tensor<4x?xf32>, %w: tensor<?xf32>) {
  // CHECK:      %[[D:.*]] = arith.subi
  // CHECK:      %[[X:.*]] = arith.sitofp
  // CHECK:      %[[S:.*]] = pe.sum({{.*}}%[[X]]{{.*}}) attributes {count = 4 : i64} {
  // CHECK-NEXT: ^bb0(%[[K:[^:]*]]: index,
  // CHECK:        pe.read %{{.*}}[%[[K]], %{{.*}}] : tensor<4x?xf32>
  // CHECK-NOT:    arith.sitofp
  // CHECK:        pe.yield
  // CHECK:      %[[AMP:.*]] = pe.read %{{.*}} : tensor<?xf32>
  // CHECK:      pe.sum(%{{.*}}, %[[AMP]] : tensor<?xf32>, f32) attributes {extent = array<i64: 0, 0>} {
  %0 = pe.bias_fn(%amp, %u, %w : tensor<?xf32>, tensor<4x?xf32>, tensor<?xf32>)
         expr "sum(k < size(u, 0), u[k, h] * (i - j)) + sum(k < size(w, 0), amp[h] * w[k])"
  return
}

// Elements of an integer tensor are integers.
// CHECK-LABEL: func @integers
func.func @integers(%ids: tensor<?xi32>, %table: tensor<8x?xf32>) {
  // CHECK: %[[ID:.*]] = pe.read %{{.*}}[%{{.*}}] : tensor<?xi32>
  // CHECK: %[[ROW:.*]] = arith.index_cast %[[ID]] : i32 to index
  // CHECK: pe.read %{{.*}}[%[[ROW]], %{{.*}}] : tensor<8x?xf32>
  %0 = pe.bias_fn(%ids, %table : tensor<?xi32>, tensor<8x?xf32>) expr "table[ids[j], h]"
  return
}

// A captured coordinate is a number.
// CHECK-LABEL: func @coordinate
func.func @coordinate(%c: tensor<f32>, %fade: tensor<?xf32>) {
  // CHECK: pe.bias_fn(%{{.*}}, %{{.*}} : tensor<?xf32>, !pe.coordinate) {
  // CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index,
  // CHECK-SAME:      %{{.*}}: tensor<?xf32>, %[[T:.*]]: f32):
  // CHECK: arith.mulf %{{.*}}, %[[T]] : f32
  %t = pe.log_distance c(%c : tensor<f32>)
  %0 = pe.bias_fn(%fade, %t : tensor<?xf32>, !pe.coordinate) expr "fade[h] * t"
  return
}
