// RUN: pe-opt %s --pe-split-terms | FileCheck %s

// Code that depends only on i - j, and code that does not.
// CHECK-LABEL: func @classes
// CHECK:         pe.term <distance, "depends on i and j only through i - j">
// CHECK:         pe.term <distance, "depends on i and j only through i - j">
// CHECK:         pe.term <general, "combines (i) and (j) in arith.subf">
// CHECK:         pe.term <general, "depends on batch, head, i - j together">
// CHECK:         pe.term <row, "is one value per head">
// CHECK:         pe.term <column, "depends only on the key position">
func.func @classes(%q: tensor<?x?x?x64xf32>, %s: tensor<?xf32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>,
        tensor<?x?x?x64xf32>) {
  // A comparison of i and j depends on their difference.
  %compare = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %near = arith.cmpi sgt, %i, %j : index
    %one = arith.constant 1.0 : f32
    %two = arith.constant 2.0 : f32
    %v = arith.select %near, %one, %two : f32
    pe.yield %v : f32
  }
  // 3 i + 1 - 3 j, as floats, in a nonlinear function. Queries are never before position 0, but
  // keys may be.
  %floats = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %three = arith.constant 3.0 : f32
    %one = arith.constant 1.0 : f32
    %i32 = arith.index_cast %i : index to i32
    %j32 = arith.index_cast %j : index to i32
    %fi = arith.uitofp %i32 : i32 to f32
    %fj = arith.sitofp %j32 : i32 to f32
    %a = arith.mulf %three, %fi : f32
    %c = arith.mulf %fj, %three : f32
    %e = arith.addf %a, %one : f32
    %f = arith.subf %e, %c : f32
    %v = math.sin %f : f32
    pe.yield %v : f32
  }
  // 3 i - 2 j is not a function of i - j.
  %unequal = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %three = arith.constant 3.0 : f32
    %two = arith.constant 2.0 : f32
    %i32 = arith.index_cast %i : index to i32
    %j32 = arith.index_cast %j : index to i32
    %fi = arith.sitofp %i32 : i32 to f32
    %fj = arith.sitofp %j32 : i32 to f32
    %a = arith.mulf %three, %fi : f32
    %c = arith.mulf %fj, %two : f32
    %f = arith.subf %a, %c : f32
    %v = math.sin %f : f32
    pe.yield %v : f32
  }
  // A table per head, not per batch.
  %batch = pe.bias_fn(%s : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>):
    %d = arith.subi %i, %j : index
    %d32 = arith.index_cast %d : index to i32
    %f = arith.sitofp %d32 : i32 to f32
    %sh = pe.read %t[%h] : tensor<?xf32>
    %sb = pe.read %t[%b] : tensor<?xf32>
    %e = math.exp %f : f32
    %x = arith.mulf %e, %sh : f32
    %v = arith.mulf %x, %sb : f32
    pe.yield %v : f32
  }
  %head = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %g = pe.global_head %h
    %g32 = arith.index_cast %g : index to i32
    %v = arith.sitofp %g32 : i32 to f32
    pe.yield %v : f32
  }
  %key = pe.bias_fn(%s : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>):
    %v = pe.read %t[%j] : tensor<?xf32>
    pe.yield %v : f32
  }
  %o_compare = pe.attention %q, %q, %q bias(%compare)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  %o_floats = pe.attention %q, %q, %q bias(%floats)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  %o_unequal = pe.attention %q, %q, %q bias(%unequal)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  %o_batch = pe.attention %q, %q, %q bias(%batch)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  %o_head = pe.attention %q, %q, %q bias(%head)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  %o_key = pe.attention %q, %q, %q bias(%key)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o_compare, %o_floats, %o_unequal, %o_batch, %o_head, %o_key
      : tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>,
      tensor<?x?x?x64xf32>
}
