// One case per constraint of pe.sum (docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

func.func @sum_of_nothing_known(%x: f32) {
  // expected-error @below {{expected either a count or an extent, found neither (sum-C1)}}
  %y = pe.sum(%x : f32) {
  ^bb0(%k: index, %a: f32):
    pe.yield %a : f32
  }
  return
}

// -----

func.func @sum_count(%x: f32) {
  // expected-error @below {{expected a count between 0 and 4096, found 4097 (sum-C1)}}
  %y = pe.sum(%x : f32) attributes {count = 4097 : i64} {
  ^bb0(%k: index, %a: f32):
    pe.yield %a : f32
  }
  return
}

// -----

func.func @sum_extent(%x: f32, %t: tensor<?xf32>) {
  // expected-error @below {{extent to be the index of a tensor input and one of its axes, found [0, 0] (sum-C2)}}
  %y = pe.sum(%x, %t : f32, tensor<?xf32>) attributes {extent = array<i64: 0, 0>} {
  ^bb0(%k: index, %a: f32, %u: tensor<?xf32>):
    pe.yield %a : f32
  }
  return
}

// -----

func.func @sum_arguments(%x: f32) {
  // expected-error @below {{expected the region to have arguments of the types 'index', 'f32', found 'index' (sum-C3)}}
  %y = pe.sum(%x : f32) attributes {count = 2 : i64} {
  ^bb0(%k: index):
    %a = arith.constant 1.0 : f32
    pe.yield %a : f32
  }
  return
}

// -----

func.func @sum_of_integers(%x: f32) {
  // expected-error @below {{expected the region to yield one f32 (sum-C4)}}
  %y = pe.sum(%x : f32) attributes {count = 2 : i64} {
  ^bb0(%k: index, %a: f32):
    pe.yield %k : index
  }
  return
}

// -----

func.func @sum_of_networks(%x: f32, %h: index, %w: tensor<?xf32>) {
  %y = pe.sum(%x, %h, %w : f32, index, tensor<?xf32>) attributes {count = 2 : i64} {
  ^bb0(%k: index, %a: f32, %g: index, %u: tensor<?xf32>):
    // expected-error @below {{expected no network inside the sum (sum-C4)}}
    %z = pe.mlp_eval %a, %g layers(%u, %u : tensor<?xf32>, tensor<?xf32>) : f32
    pe.yield %z : f32
  }
  return
}
