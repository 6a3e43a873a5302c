// One case per constraint of pe.term (docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

func.func @parts() {
  // expected-error @below {{'pe.term' op expected a region per part of the class row_column, 2, found 1 (term-C1)}}
  %0 = pe.term <row_column, "is a sum"> attributes {formula = "i"} {
  ^bb0(%b: index, %h: index, %i: index):
    %v = arith.constant 1.0 : f32
    pe.yield %v : f32
  }
  return
}

// -----

func.func @arguments(%t: tensor<?xf32>) {
  // CHECK: expected the part distance to have arguments of the types 'index', 'index', 'index', 'tensor<?xf32>',
  // CHECK-SAME: {{^}} found 'index', 'index', 'index', 'index', 'tensor<?xf32>' (term-C2)
  // expected-error-re @below {{expected the part distance to have arguments of the types 'index',{{.*}}(term-C2)}}
  %0 = pe.term <distance, "depends on i - j">(%t : tensor<?xf32>) attributes {formula = "1"} {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %c: tensor<?xf32>):
    %v = arith.constant 1.0 : f32
    pe.yield %v : f32
  }
  return
}

// -----

func.func @yield() {
  // expected-error @below {{expected the part scale to yield one f32 (term-C3)}}
  %0 = pe.term <segments, "is piecewise linear"> attributes {formula = "mlp(i)"} {
  ^bb0(%b: index, %h: index, %d: index):
    %v = arith.constant 1.0 : f32
    pe.yield %v : f32
  }, {
  ^bb0(%b: index, %h: index, %i: index):
    %v = arith.constant 1.0 : f32
    pe.yield %v : f32
  }, {
  ^bb0(%b: index, %h: index):
    pe.yield
  }, {
  ^bb0(%b: index, %h: index, %x: f32):
    pe.yield %x : f32
  }
  return
}

// -----

func.func @batch(%t: tensor<?xf32>) {
  // expected-error @below {{expected a term of class distance not to depend on b (term-C4)}}
  %0 = pe.term <distance, "depends on i - j">(%t : tensor<?xf32>) attributes {formula = "t[b]"} {
  ^bb0(%b: index, %h: index, %d: index, %c: tensor<?xf32>):
    %v = pe.read %c[%b] : tensor<?xf32>
    pe.yield %v : f32
  }
  return
}

// -----

func.func @piece() {
  // expected-error @below {{an operation with PiecewiseOpInterface whose coordinate is the part's x (term-C5)}}
  %0 = pe.term <segments, "is piecewise linear"> attributes {formula = "mlp(i)"} {
  ^bb0(%b: index, %h: index, %d: index):
    %v = arith.constant 1.0 : f32
    pe.yield %v : f32
  }, {
  ^bb0(%b: index, %h: index, %i: index):
    %v = arith.constant 1.0 : f32
    pe.yield %v : f32
  }, {
  ^bb0(%b: index, %h: index):
    %v = arith.constant 1.0 : f32
    pe.yield %v : f32
  }, {
  ^bb0(%b: index, %h: index, %x: f32):
    pe.yield %x : f32
  }
  return
}

// -----

func.func @code() {
  %0 = pe.term <column, "depends on j"> attributes {formula = "j"} {
  ^bb0(%b: index, %h: index, %j: index):
    // expected-error @below {{expected ops of arith, math or pe on single numbers, found 'pe.distance'}}
    %d = pe.distance
    %v = arith.constant 1.0 : f32
    pe.yield %v : f32
  }
  return
}
