// RUN: pe-opt %s --pe-differentiate | FileCheck %s

!tokens = tensor<?x?x?xf32>

// Tokens get the cotangent as it is, and a table that two sums read the sum of both.
// CHECK-LABEL: func.func private @embed_grad
// CHECK-SAME:    %[[DY:[a-z0-9]+]]: tensor<?x?x?xf32> {pe.name = "d_y"}, %[[DW:[a-z0-9]+]]: tensor<?x?x?xf32> {pe.name = "d_w"}
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
