// RUN: pe-opt %s --split-input-file --pe-split-terms --pe-simplify-under-normalizer | FileCheck %s

// Softmax without a log-sum-exp: the row part is dropped, the column is kept.
// CHECK-LABEL: func @softmax
// CHECK:         %[[COLUMN:.*]] = pe.term <column,
// CHECK-NOT:     pe.term
// CHECK:         pe.attention {{.*}} bias(%[[COLUMN]])
// CHECK-SAME:      dropped = ["a term that depends only on the query position, at {{[^"]*}}:
// CHECK-SAME:      softmax is unchanged by a constant added to a row"]
// CHECK-LABEL: func @row_alone
// CHECK-NOT:     pe.term
// CHECK:         pe.attention %{{.*}}, %{{.*}}, %{{.*}} {dropped = ["a term that depends only on the query
// CHECK-SAME:    position, at
// With a used log-sum-exp the row term is kept.
// CHECK-LABEL: func @log_sum_exp
// CHECK:         %[[ROW:.*]] = pe.term <row,
// CHECK:         pe.attention {{.*}} bias(%[[ROW]]) :
// Stick-breaking is not shift-invariant.
// CHECK-LABEL: func @stick_breaking
// CHECK:         %[[ROW:.*]] = pe.term <row,
// CHECK:         pe.attention {{.*}} bias(%[[ROW]])
// CHECK-NOT:     dropped
// Nor is softmax with a sink, which is not shifted; dropout follows the normalizer and has no influence.
// CHECK-LABEL: func @sink
// CHECK:         %[[ROW:.*]] = pe.term <row,
// CHECK:         pe.attention {{.*}} bias(%[[ROW]]) sink(%{{.*}} : tensor<?xf32>) :
// CHECK-LABEL: func @dropout
// CHECK-NOT:     pe.term
// CHECK:         pe.attention {{.*}} dropout(5.000000e-01, %{{.*}} : tensor<i64>) {dropped =
// A row term that reads a parameter may be minus infinity and mask its row.
// CHECK-LABEL: func @of_a_parameter
// CHECK:         %[[ROW:.*]] = pe.term <row,
// CHECK:         pe.attention {{.*}} bias(%[[ROW]]) :
func.func @softmax(%q: tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32> {
  %row = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %0 = arith.index_cast %i : index to i32
    %1 = arith.sitofp %0 : i32 to f32
    pe.yield %1 : f32
  }
  %column = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %0 = arith.index_cast %j : index to i32
    %1 = arith.sitofp %0 : i32 to f32
    pe.yield %1 : f32
  }
  %o = pe.attention %q, %q, %q bias(%row, %column)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
func.func @row_alone(%q: tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32> {
  %row = pe.bias_fn expr "sin(i)"
  %o = pe.attention %q, %q, %q bias(%row)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
func.func @log_sum_exp(%q: tensor<?x?x?x64xf32>) -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>) {
  %row = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %0 = arith.index_cast %i : index to i32
    %1 = arith.sitofp %0 : i32 to f32
    pe.yield %1 : f32
  }
  %o, %l = pe.attention %q, %q, %q bias(%row)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
  return %o, %l : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
func.func @stick_breaking(%q: tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32> {
  %row = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %0 = arith.index_cast %i : index to i32
    %1 = arith.sitofp %0 : i32 to f32
    pe.yield %1 : f32
  }
  %mask = pe.strict_causal
  %o = pe.attention %q, %q, %q bias(%row) mask(%mask) {normalizer = #pe.normalizer<stick_breaking>}
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
func.func @sink(%q: tensor<?x?x?x64xf32>, %sink: tensor<?xf32>) -> tensor<?x?x?x64xf32> {
  %row = pe.bias_fn expr "sin(i)"
  %o = pe.attention %q, %q, %q bias(%row) sink(%sink : tensor<?xf32>)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
func.func @dropout(%q: tensor<?x?x?x64xf32>, %seed: tensor<i64>) -> tensor<?x?x?x64xf32> {
  %row = pe.bias_fn expr "sin(i)"
  %o = pe.attention %q, %q, %q bias(%row) dropout(0.5, %seed : tensor<i64>)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
func.func @of_a_parameter(%q: tensor<?x?x?x64xf32>, %t: tensor<?xf32>) -> tensor<?x?x?x64xf32> {
  %row = pe.bias_fn(%t : tensor<?xf32>) expr "t[i]"
  %o = pe.attention %q, %q, %q bias(%row)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
