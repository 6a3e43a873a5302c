// One case per constraint dataflow-C* of docs/spec.md that concerns embeddings, and accepted programs.
// RUN: pe-opt %s --pe-prepare --split-input-file --verify-diagnostics | FileCheck %s

!tokens = tensor<?x?x?xf32>

// Two sums may share an embedding, and a tensor may have a user-defined axis.
// CHECK-LABEL: func.func @embed
func.func @embed(%x: !tokens {pe.name = "x", pe.axes = ["batch", "query", "model"]}, %z: !tokens {pe.name = "z"},
                 %t: tensor<?x?xf32> {pe.name = "t", pe.axes = ["rows", "model"]})
    -> (!tokens {pe.name = "y"}, !tokens {pe.name = "w"}) {
  %e = pe.embedding_fn(%t : tensor<?x?xf32>) expr "t[p, d]"
  %y = pe.embed %x, %e : !tokens
  %w = pe.embed %z, %e : !tokens
  return %y, %w : !tokens, !tokens
}

// -----

!tokens = tensor<?x?x?xf32>

// expected-error-re @below {{expected pe.axes ["batch",{{.*}}found ["batch", "key", "model"]{{.*}}(dataflow-C6)}}
func.func @axes_of_tokens(%x: !tokens {pe.name = "x", pe.axes = ["batch", "key", "model"]})
    -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn expr "p"
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}

// -----

!tokens = tensor<?x?x?xf32>

func.func @constant_capture(%x: !tokens {pe.name = "x"}) -> (!tokens {pe.name = "y"}) {
  %c = arith.constant dense<1.0> : tensor<f32>
  // expected-error-re @below {{expected captures to be{{.*}}found the result of another op{{.*}}(dataflow-C9)}}
  %e = pe.embedding_fn(%c : tensor<f32>) expr "p * c"
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}

// -----

!tokens = tensor<?x?x?xf32>

func.func @tokens_twice(%x: !tokens {pe.name = "x"}) -> (!tokens {pe.name = "y"}, !tokens {pe.name = "z"}) {
  %e = pe.embedding_fn expr "p"
  // expected-error-re @below {{expected the tokens to be an argument of{{.*}}found one with other uses (dataflow-C11)}}
  %y = pe.embed %x, %e : !tokens
  %z = pe.embed %x, %e : !tokens
  return %y, %z : !tokens, !tokens
}

// -----

!tokens = tensor<?x?x?xf32>

func.func @sum_of_sums(%x: !tokens {pe.name = "x"}) -> (!tokens {pe.name = "y"}, !tokens {pe.name = "z"}) {
  %e = pe.embedding_fn expr "p"
  %y = pe.embed %x, %e : !tokens
  // expected-error-re @below {{expected the tokens to be an{{.*}}found the result of another op (dataflow-C11)}}
  %z = pe.embed %y, %e : !tokens
  return %y, %z : !tokens, !tokens
}

// -----

!tokens = tensor<?x?x?xf32>

func.func @unused_sum(%x: !tokens {pe.name = "x"}, %z: !tokens {pe.name = "z"}) -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn expr "p"
  // expected-error @below {{expected the sum to be a result of the entry function, found it unused (dataflow-C12)}}
  %w = pe.embed %z, %e : !tokens
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}

// -----

!tokens = tensor<?x?x?xf32>

// expected-error-re @below {{expected every unknown size of a tensor that{{.*}}found no pe.axes{{.*}}(dataflow-C14)}}
func.func @sizes_of_table(%x: !tokens {pe.name = "x"}, %t: tensor<?xf32> {pe.name = "t"}) -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn(%t : tensor<?xf32>) expr "t[d]"
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}

// -----

!tokens = tensor<?x?x?xf32>

// expected-error-re @below {{expected every unknown size of a tensor that an embedding reads to count{{.*}}found head}}
func.func @heads_of_table(%x: !tokens {pe.name = "x"}, %t: tensor<?xf32> {pe.name = "t", pe.axes = ["head"]})
    -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn(%t : tensor<?xf32>) expr "t[d]"
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}

// -----

!tokens = tensor<?x?x?xf32>

func.func @seed_of_tokens(%x: !tokens {pe.name = "x"}) -> (!tokens {pe.name = "y"}) {
  %seed = arith.constant dense<7> : tensor<i64>
  %e = pe.embedding_fn expr "p"
  // expected-error-re @below {{expected the seed to be an argument{{.*}}found the result of another op (dataflow-C10)}}
  %y = pe.embed %x, %e dropout(0.1, %seed : tensor<i64>) : !tokens
  return %y : !tokens
}

// -----

!tokens = tensor<?x?x?xf32>

// expected-error-re @below {{expected pe.axes ["batch"] of the seeds of pe.embed, found ["query"]{{.*}}(dataflow-C6)}}
func.func @axes_of_seeds(%x: !tokens {pe.name = "x"}, %seed: tensor<?xi64> {pe.name = "seed", pe.axes = ["query"]})
    -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn expr "p"
  %y = pe.embed %x, %e dropout(0.1, %seed : tensor<?xi64>) : !tokens
  return %y : !tokens
}
