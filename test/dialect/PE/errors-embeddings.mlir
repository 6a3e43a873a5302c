// One case per constraint of embeddings and of their gradients, and of the dropout of pe.embed (embedding_fn-C*,
// axis_size-C1, embedding_pullback-C* and dropout-C* of docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

func.func @arguments() {
  // expected-error @below {{expected 4 region arguments (p, d, dim, n and one per capture), found 2 (embedding_fn-C1)}}
  %e = pe.embedding_fn {
  ^bb0(%p: index, %d: index):
    %x = arith.constant 1.0 : f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @types() {
  // expected-error @below {{expected region argument 3 to have type 'index', found 'i32' (embedding_fn-C2)}}
  %e = pe.embedding_fn {
  ^bb0(%p: index, %d: index, %dim: index, %n: i32):
    %x = arith.constant 1.0 : f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @yield() {
  %e = pe.embedding_fn {
  ^bb0(%p: index, %d: index, %dim: index, %n: index):
    // expected-error @below {{expected one f32 value, found 'index' (embedding_fn-C3)}}
    pe.yield %p : index
  }
  return
}

// -----

func.func @other_dialect(%t: tensor<4xf32>) {
  %e = pe.embedding_fn(%t : tensor<4xf32>) {
  ^bb0(%p: index, %d: index, %dim: index, %n: index, %a: tensor<4xf32>):
    // expected-error-re @below {{on single numbers, found 'tensor.extract';{{.*}}(embedding_fn-C4)}}
    %x = tensor.extract %a[%p] : tensor<4xf32>
    pe.yield %x : f32
  }
  return
}

// -----

func.func @unknown_function() {
  %e = pe.embedding_fn {
  ^bb0(%p: index, %d: index, %dim: index, %n: index):
    %x = arith.constant 1.0 : f32
    // expected-error @below {{that every target has (docs/spec.md lists them), found 'math.asinh' (embedding_fn-C5)}}
    %y = math.asinh %x : f32
    pe.yield %y : f32
  }
  return
}

// -----

func.func @narrow() {
  %e = pe.embedding_fn {
  ^bb0(%p: index, %d: index, %dim: index, %n: index):
    // expected-error @below {{i64 or index, found 'f16'; compute in a wider type (embedding_fn-C6)}}
    %x = arith.constant 1.0 : f16
    %y = arith.extf %x : f16 to f32
    pe.yield %y : f32
  }
  return
}

// -----

func.func @heads() {
  %e = pe.embedding_fn {
  ^bb0(%p: index, %d: index, %dim: index, %n: index):
    // expected-error @below {{expected no heads and no network in an embedding (embedding_fn-C7)}}
    %h = pe.heads_total
    %i = arith.index_cast %h : index to i64
    %x = arith.sitofp %i : i64 to f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @width() {
  // expected-error @below {{expected width_multiple of at least 1, found 0 (embedding_fn-C8)}}
  %e = pe.embedding_fn attributes {width_multiple = 0} expr "p"
  return
}

// -----

func.func @least_of_what() {
  // CHECK: expected least to give sizes of axes as expressions over n such as "2 * n - 1", found "rows" = "2 * p";
  // CHECK-SAME: {{^}} only n is known (embedding_fn-C9)
  // expected-error-re @below {{least to give sizes of axes{{.*}}found "rows" = "2 * p";{{.*}}(embedding_fn-C9)}}
  %e = pe.embedding_fn attributes {least = {rows = "2 * p"}} expr "p"
  return
}

// -----

func.func @least_is_text() {
  // expected-error @below {{such as "2 * n - 1", found "rows" = 4 : i64; it is not a string (embedding_fn-C9)}}
  %e = pe.embedding_fn attributes {least = {rows = 4}} expr "p"
  return
}

// -----

func.func @axis(%t: tensor<?x?xf32>) {
  %e = pe.embedding_fn(%t : tensor<?x?xf32>) {
  ^bb0(%p: index, %d: index, %dim: index, %n: index, %a: tensor<?x?xf32>):
    // expected-error @below {{expected an axis of 'tensor<?x?xf32>' in [0, 2), found 2 (axis_size-C1)}}
    %s = pe.axis_size %a, 2 : tensor<?x?xf32>
    %x = pe.read %a[%s, %d] : tensor<?x?xf32>
    pe.yield %x : f32
  }
  return
}

// -----

func.func @size_in_a_formula(%t: tensor<?xf32>) {
  // expected-error @below {{expected size(NAME, AXIS) of a captured tensor and one of its axes}}
  %e = pe.embedding_fn(%t : tensor<?xf32>) expr "size(t, 1) + t[p]"
  return
}

// -----

func.func @names_in_a_formula() {
  // expected-error @below {{expected p, d, dim, n, pi, inf or a captured tensor, found 'heads_total'}}
  %e = pe.embedding_fn expr "p + heads_total"
  return
}

// -----

func.func @pullback_of_what(%e: !pe.embedding, %dy: tensor<?x?x?xf32>) {
  // expected-error @below {{an embedding made by pe.embedding_fn, found another value (embedding_pullback-C1)}}
  pe.embedding_pullback %e, %dy : tensor<?x?x?xf32>
  return
}

// -----

func.func @gradients(%t: tensor<?x?xf32>, %dy: tensor<?x?x?xf32>) {
  %e = pe.embedding_fn(%t : tensor<?x?xf32>) expr "t[p, d]"
  // CHECK: expected one gradient per capture of the embedding, of types 'tensor<?x?xf32>',
  // CHECK-SAME: {{^}} found 'tensor<?xf32>' (embedding_pullback-C2)
  // expected-error-re @below {{one gradient per capture{{.*}}, found 'tensor<?xf32>' (embedding_pullback-C2)}}
  %g = pe.embedding_pullback %e, %dy : tensor<?x?x?xf32> -> tensor<?xf32>
  return
}

// -----

func.func @probability_alone(%x: tensor<?x?x?xf32>, %e: !pe.embedding) {
  // expected-error @below {{both a probability of dropout and a seed, found only the probability (dropout-C1)}}
  %y = pe.embed %x, %e {dropout = 0.1} : tensor<?x?x?xf32>
  return
}

// -----

func.func @probability(%x: tensor<?x?x?xf32>, %e: !pe.embedding, %seed: tensor<i64>) {
  // expected-error @below {{expected a probability of dropout in [0, 1), found 1.000000e+00 (dropout-C2)}}
  %y = pe.embed %x, %e dropout(1.0, %seed : tensor<i64>) : tensor<?x?x?xf32>
  return
}

// -----

func.func @probability_of_a_gradient(%dy: tensor<?x?x?xf32>, %seed: tensor<i64>) {
  // expected-error @below {{expected a probability of dropout in [0, 1), found -5.000000e-01 (dropout-C2)}}
  %dx = pe.embed_grad %dy dropout(-0.5, %seed : tensor<i64>) : tensor<?x?x?xf32>
  return
}

// -----

func.func @seeds(%x: tensor<2x?x?xf32>, %e: !pe.embedding, %seeds: tensor<3xi64>) {
  // expected-error @below {{expected the batch of the seeds to match the 2 of the tokens, found 3 (dropout-C3)}}
  %y = pe.embed %x, %e dropout(0.1, %seeds : tensor<3xi64>) : tensor<2x?x?xf32>
  return
}
