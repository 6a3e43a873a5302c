// RUN: pe-opt %s --pe-split-terms | FileCheck %s

// The coordinate of a segments term becomes the product of a function of i - j and a function of i,
// whatever its original form; a scale of the network remains outside.
// CHECK-LABEL: func @ratio
// CHECK:         %[[ROW:.*]] = pe.term <row, "is one value per head">
// CHECK:         %[[SEGMENTS:.*]] = pe.term <segments, "is piecewise linear in u(i - j) / r(i)">
// CHECK-SAME:      formula = "0.5 * mlp(exp(i - j) / i * argument 1[h])"
// CHECK:           %[[E:.*]] = math.exp
// CHECK:           %[[S:.*]] = pe.read
// CHECK:           %[[U:.*]] = arith.mulf %[[E]], %[[S]]
// CHECK:           pe.yield %[[U]]
// CHECK:           %[[FI:.*]] = arith.sitofp
// CHECK:           %[[R:.*]] = arith.divf %{{.*}}, %[[FI]] : f32
// CHECK:           pe.yield %[[R]]
// CHECK:           %[[HALF:.*]] = arith.constant 5.000000e-01
// CHECK:           pe.yield %[[HALF]]
// CHECK:         ^bb0(%{{.*}}: index, %[[H:.*]]: index, %[[X:.*]]: f32,
// CHECK:           %[[Y:.*]] = pe.mlp_eval %[[X]], %[[H]]
// CHECK:           pe.yield %[[Y]]
// CHECK:         pe.attention {{.*}} bias(%[[ROW]], %[[SEGMENTS]])
func.func @ratio(%q: tensor<?x?x?x64xf32>, %s: tensor<?xf32>, %w1: tensor<8xf32>, %b1: tensor<8xf32>,
                 %w2: tensor<?x8xf32>, %b2: tensor<?xf32>) -> tensor<?x?x?x64xf32> {
  %bias = pe.bias_fn(%s, %w1, %b1, %w2, %b2
      : tensor<?xf32>, tensor<8xf32>, tensor<8xf32>, tensor<?x8xf32>, tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>, %c1: tensor<8xf32>,
       %c2: tensor<8xf32>, %c3: tensor<?x8xf32>, %c4: tensor<?xf32>):
    %sh = pe.read %t[%h] : tensor<?xf32>
    %d = arith.subi %i, %j : index
    %d32 = arith.index_cast %d : index to i32
    %f = arith.sitofp %d32 : i32 to f32
    %i32 = arith.index_cast %i : index to i32
    %fi = arith.sitofp %i32 : i32 to f32
    %e = math.exp %f : f32
    %quotient = arith.divf %e, %fi : f32
    %x = arith.mulf %quotient, %sh : f32
    %y = pe.mlp_eval %x, %h layers(%c1, %c2, %c3, %c4
        : tensor<8xf32>, tensor<8xf32>, tensor<?x8xf32>, tensor<?xf32>) : f32
    %half = arith.constant 0.5 : f32
    %z = arith.mulf %y, %half : f32
    %v = arith.addf %z, %sh : f32
    pe.yield %v : f32
  }
  %o = pe.attention %q, %q, %q bias(%bias)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
