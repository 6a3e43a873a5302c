// RUN: pe-opt %s --split-input-file --pe-differentiate | FileCheck %s

!tokens = tensor<?x?x?xf32>

// Tokens get the unchanged cotangent, and a table that two sums read gets the sum of both.
// CHECK-LABEL: func.func private @embed_grad
// CHECK-SAME:    %[[DY:[a-z0-9]+]]: tensor<?x?x?xf32> {pe.name = "d_y"},
// CHECK-SAME:    %[[DW:[a-z0-9]+]]: tensor<?x?x?xf32> {pe.name = "d_w"}
// CHECK:         %[[A:.*]] = pe.embedding_pullback %{{.*}}, %[[DW]] : tensor<?x?x?xf32> -> tensor<?x?xf32>
// CHECK:         %[[B:.*]] = pe.embedding_pullback %{{.*}}, %[[DY]] : tensor<?x?x?xf32> -> tensor<?x?xf32>
// CHECK:         %[[SUM:.*]] = arith.addf %[[A]], %[[B]]
// CHECK:         return %[[DY]], %[[DW]], %[[SUM]]
func.func @embed(%x: !tokens {pe.name = "x"}, %z: !tokens {pe.name = "z"},
                 %t: tensor<?x?xf32> {pe.name = "t", pe.axes = ["rows", "model"]})
    -> (!tokens {pe.name = "y"}, !tokens {pe.name = "w"}) {
  %e = pe.embedding_fn(%t : tensor<?x?xf32>) expr "t[p, d]"
  %y = pe.embed %x, %e : !tokens
  %w = pe.embed %z, %e : !tokens
  return %y, %w : !tokens, !tokens
}

// -----

!tokens = tensor<?x?x?xf32>

// After dropout the sum gets the cotangent times the factors, and so does the table.
// CHECK-LABEL: func.func private @drop_grad
// CHECK-SAME:    %[[SEED:[a-z0-9]+]]: tensor<?xi64> {pe.name = "seed"},
// CHECK-SAME:    %[[DY:[a-z0-9]+]]: tensor<?x?x?xf32> {pe.name = "d_y"}
// CHECK:         %[[D:.*]] = pe.embed_grad %[[DY]] dropout(1.000000e-01, %[[SEED]] : tensor<?xi64>) : tensor<?x?x?xf32>
// CHECK:         %[[T:.*]] = pe.embedding_pullback %{{.*}}, %[[D]] : tensor<?x?x?xf32> -> tensor<?x?xf32>
// CHECK:         return %[[D]], %[[T]]
func.func @drop(%x: !tokens {pe.name = "x"},
                %t: tensor<?x?xf32> {pe.name = "t", pe.axes = ["rows", "model"]},
                %seed: tensor<?xi64> {pe.name = "seed"}) -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn(%t : tensor<?x?xf32>) expr "t[p, d]"
  %y = pe.embed %x, %e dropout(0.1, %seed : tensor<?xi64>) : !tokens
  return %y : !tokens
}
