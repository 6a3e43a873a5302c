// One case per constraint dataflow-C* of docs/spec.md, and accepted programs.
// RUN: pe-opt %s --pe-prepare --split-input-file --verify-diagnostics | FileCheck %s

!qkv = tensor<?x?x?x?xf32>

// Parameters may serve several attentions; inlining happens first.
// CHECK-LABEL: func.func @shared_parameter
func.func private @attend(%q: !qkv, %k: !qkv, %v: !qkv, %s: tensor<?xf32>) -> !qkv {
  %x = pe.distance
  %b = pe.linear %x slope(%s : tensor<?xf32>)
  %o = pe.attention %q, %k, %v bias(%b) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
func.func @shared_parameter(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                            %q2: !qkv {pe.name = "q2"}, %k2: !qkv {pe.name = "k2"}, %v2: !qkv {pe.name = "v2"},
                            %s: tensor<?xf32> {pe.name = "s"})
    -> (!qkv {pe.name = "o"}, !qkv {pe.name = "o2"}) {
  %o = call @attend(%q, %k, %v, %s) : (!qkv, !qkv, !qkv, tensor<?xf32>) -> !qkv
  %o2 = call @attend(%q2, %k2, %v2, %s) : (!qkv, !qkv, !qkv, tensor<?xf32>) -> !qkv
  return %o, %o2 : !qkv, !qkv
}

// -----

func.func @no_result() {
  // expected-error @below {{expected at least one result, found none; return the result of pe.attention, pe.merge or pe.embed (dataflow-C1)}}
  return
}

// -----

func.func @argument_as_result(%q: tensor<?xf32> {pe.name = "q"}) -> (tensor<?xf32> {pe.name = "o"}) {
  // expected-error @below {{expected result 0 to be produced by pe.attention, pe.merge or pe.embed, found an argument (dataflow-C2)}}
  return %q : tensor<?xf32>
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @returned_twice(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}, !qkv {pe.name = "o2"}) {
  %o = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv
  // expected-error @below {{expected result 1 to be returned once, found it twice (dataflow-C3)}}
  return %o, %o : !qkv, !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @chain(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                 %k2: !qkv {pe.name = "k2"}, %v2: !qkv {pe.name = "v2"}) -> (!qkv {pe.name = "o"}) {
  %o = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv
  // expected-error @below {{expected queries to be an argument of the entry function, found the result of another op; compile each attention by itself (dataflow-C4)}}
  %p = pe.attention %o, %k2, %v2 : (!qkv, !qkv, !qkv) -> !qkv
  return %p : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

// expected-note @below {{this argument}}
func.func @keys_as_values(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}) -> (!qkv {pe.name = "o"}) {
  // expected-error @below {{expected keys to have no other use, found 2 uses; pass a separate argument for each use (dataflow-C5)}}
  %o = pe.attention %q, %k, %k : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

// expected-note @below {{this argument}}
func.func @queries_in_bias(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %b = pe.bias_fn(%q : !qkv) expr "q[b, h, 0, 0]"
  // expected-error @below {{expected queries to have no other use}}
  %o = pe.attention %q, %k, %v bias(%b) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

// expected-error @below {{expected pe.axes ["batch", "head", "query", "depth"] of this operand of pe.attention, found ["batch", "head", "key", "depth"]; they may be omitted (dataflow-C6)}}
func.func @axes_of_queries(%q: !qkv {pe.name = "q", pe.axes = ["batch", "head", "key", "depth"]},
                           %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %o = pe.attention %q, %k, %v : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @slopes_of_keys(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                          %s: tensor<?xf32> {pe.name = "s", pe.axes = ["key"]}) -> (!qkv {pe.name = "o"}) {
  %x = pe.distance
  // expected-error @below {{expected an argument of one value per head, found one with pe.axes ["key"]; read it in pe.bias_fn, pe.score_fn or pe.mask_fn (dataflow-C7)}}
  %b = pe.linear %x slope(%s : tensor<?xf32>)
  %o = pe.attention %q, %k, %v bias(%b) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @two_unknown_sizes(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                             // expected-error @below {{expected pe.axes on an argument with several unknown sizes, found 'tensor<?x?xf32>'; write what they count, such as pe.axes = ["batch", "key"] (dataflow-C8)}}
                             %s: tensor<?x?xf32> {pe.name = "s"}) -> (!qkv {pe.name = "o"}) {
  %b = pe.bias_fn(%s : tensor<?x?xf32>) expr "s[h, j]"
  %o = pe.attention %q, %k, %v bias(%b) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @constant_sink(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %two = arith.constant dense<2.0> : tensor<4xf32>
  // expected-error @below {{expected sinks, seeds and positions to be arguments of the entry function, found the result of another op (dataflow-C10)}}
  %o = pe.attention %q, %k, %v sink(%two : tensor<4xf32>) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @axes_of_a_sink(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
    // expected-error @below {{expected pe.axes ["head"] of this operand of pe.attention, found ["key"]; they may be omitted (dataflow-C6)}}
    %sink: tensor<?xf32> {pe.name = "sink", pe.axes = ["key"]}) -> (!qkv {pe.name = "o"}) {
  %o = pe.attention %q, %k, %v sink(%sink : tensor<?xf32>) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @constant_in_score(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %two = arith.constant dense<2.0> : tensor<f32>
  // expected-error @below {{expected captures to be arguments of the entry function, found the result of another op; write a number into the formula (dataflow-C9)}}
  %s = pe.score_fn(%two : tensor<f32>) expr "s * two"
  %o = pe.attention %q, %k, %v score(%s) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @absent_slopes(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                         %a: tensor<?xf32> {pe.name = "a"},
                         // expected-error @below {{expected an argument with pe.absent to be read only by pe.bias_fn or pe.score_fn (dataflow-C15)}}
                         %s: tensor<?xf32> {pe.name = "s", pe.absent = "a"}) -> (!qkv {pe.name = "o"}) {
  %x = pe.distance
  %b = pe.linear %x slope(%s : tensor<?xf32>)
  %o = pe.attention %q, %k, %v bias(%b) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

// Correct programs are unchanged.
func.func @data(%q: !qkv {pe.name = "q", pe.axes = ["batch", "head", "query", "depth"]},
                %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                %f: tensor<?x?xf32> {pe.name = "f", pe.axes = ["batch", "key"]}) -> (!qkv {pe.name = "o"}) {
  %b = pe.bias_fn(%f : tensor<?x?xf32>) expr "f[b, j]"
  %o = pe.attention %q, %k, %v bias(%b) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

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

// expected-error @below {{expected pe.axes ["batch", "query", "model"] of the tokens of pe.embed, found ["batch", "key", "model"]; they may be omitted (dataflow-C6)}}
func.func @axes_of_tokens(%x: !tokens {pe.name = "x", pe.axes = ["batch", "key", "model"]}) -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn expr "p"
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}

// -----

!tokens = tensor<?x?x?xf32>

func.func @constant_capture(%x: !tokens {pe.name = "x"}) -> (!tokens {pe.name = "y"}) {
  %c = arith.constant dense<1.0> : tensor<f32>
  // expected-error @below {{expected captures to be arguments of the entry function, found the result of another op; write a number into the formula (dataflow-C9)}}
  %e = pe.embedding_fn(%c : tensor<f32>) expr "p * c"
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}

// -----

!tokens = tensor<?x?x?xf32>

func.func @tokens_twice(%x: !tokens {pe.name = "x"}) -> (!tokens {pe.name = "y"}, !tokens {pe.name = "z"}) {
  %e = pe.embedding_fn expr "p"
  // expected-error @below {{expected the tokens to be an argument of the entry function with no other use, found one with other uses (dataflow-C11)}}
  %y = pe.embed %x, %e : !tokens
  %z = pe.embed %x, %e : !tokens
  return %y, %z : !tokens, !tokens
}

// -----

!tokens = tensor<?x?x?xf32>

func.func @sum_of_sums(%x: !tokens {pe.name = "x"}) -> (!tokens {pe.name = "y"}, !tokens {pe.name = "z"}) {
  %e = pe.embedding_fn expr "p"
  %y = pe.embed %x, %e : !tokens
  // expected-error @below {{expected the tokens to be an argument of the entry function with no other use, found the result of another op (dataflow-C11)}}
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

// expected-error @below {{expected every unknown size of a tensor that an embedding reads to count model, query or a user-defined axis, found no pe.axes; write, for instance, pe.axes = ["rows", "model"] (dataflow-C14)}}
func.func @sizes_of_table(%x: !tokens {pe.name = "x"}, %t: tensor<?xf32> {pe.name = "t"}) -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn(%t : tensor<?xf32>) expr "t[d]"
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}

// -----

!tokens = tensor<?x?x?xf32>

// expected-error @below {{expected every unknown size of a tensor that an embedding reads to count model, query or a user-defined axis, found head}}
func.func @heads_of_table(%x: !tokens {pe.name = "x"}, %t: tensor<?xf32> {pe.name = "t", pe.axes = ["head"]}) -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn(%t : tensor<?xf32>) expr "t[d]"
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @rotation_of_constant(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %b = arith.constant dense<1000.0> : tensor<f32>
  // expected-error @below {{expected its tensors to be arguments of the entry function, found the result of another op (dataflow-C16)}}
  %r = pe.rotary %b : tensor<f32>
  %o = pe.attention %q, %k, %v rotate(%r) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @rotation_of_unnamed(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
// expected-error @below {{expected axis 0, which pe.rotation_fn reads at neither h nor p, to have a known size or a user-defined name, such as pe.axes = ["pairs"], found no pe.axes (dataflow-C25)}}
                               %w: tensor<?xf32> {pe.name = "w"}) -> (!qkv {pe.name = "o"}) {
  %r = pe.rotation_fn(%w : tensor<?xf32>) expr "sum(t < 4, w[t]) * p"
  %o = pe.attention %q, %k, %v rotate(%r) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @rotation_of_heads(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
// expected-error @below {{expected axis 0, which pe.rotation_fn reads at p, to have a known size or a user-defined name, such as pe.axes = ["pairs"], found head (dataflow-C25)}}
                             %w: tensor<?xf32> {pe.name = "w", pe.axes = ["head"]}) -> (!qkv {pe.name = "o"}) {
  %r = pe.rotation_fn(%w : tensor<?xf32>) expr "w[p]"
  %o = pe.attention %q, %k, %v rotate(%r) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @rotation_of_tokens(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
// expected-error @below {{expected axis 0, which pe.rotation_fn reads at p, to have a known size or a user-defined name, such as pe.axes = ["pairs"], found key (dataflow-C25)}}
                              %w: tensor<?xf32> {pe.name = "w", pe.axes = ["key"]}) -> (!qkv {pe.name = "o"}) {
  %r = pe.rotation_fn(%w : tensor<?xf32>) expr "w[p]"
  %o = pe.attention %q, %k, %v rotate(%r) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @boundaries(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                      %cu: tensor<?xi32> {pe.name = "cu"}) -> (!qkv {pe.name = "o"}) {
  // expected-error @below {{expected the boundaries of documents to be an argument of unknown size whose axis has a user-defined name, such as pe.axes = ["boundaries"], found another one (dataflow-C21)}}
  %m = pe.documents %cu : tensor<?xi32>
  %o = pe.attention %q, %k, %v mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @content_of_positions(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                                %t: tensor<?x?xf32> {pe.name = "t", pe.axes = ["rows", "depth"]})
    -> (!qkv {pe.name = "o"}) {
  // expected-error @below {{expected a content term that depends on i and j only through i - j, and not on b, found one that depends on i; write terms of only i or only j as a bias (dataflow-C19)}}
  %c = pe.content_fn(%t : tensor<?x?xf32>) expr "t[i, d]"
  %o = pe.attention %q, %k, %v content(%c) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @shared_positions(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                            %p: tensor<?x?xi32> {pe.name = "p"}) -> (!qkv {pe.name = "o"}) {
  // expected-error @below {{expected separate arguments for the positions of queries and of keys, found one for both (dataflow-C22)}}
  %o = pe.attention %q, %k, %v positions(%p, %p : tensor<?x?xi32>, tensor<?x?xi32>) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @axes_of_shift(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                         %u: tensor<?x?xf32> {pe.name = "u", pe.axes = ["depth", "head"]})
    -> (!qkv {pe.name = "o"}) {
  // expected-error @below {{expected a tensor of unknown sizes with pe.axes = ["head", "depth"], found 'tensor<?x?xf32>' with other axes (dataflow-C20)}}
  %p = pe.query_shift %u : tensor<?x?xf32>
  %o = pe.attention %q, %k, %v prologue(%p) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @axes_of_projection(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                              %w: tensor<8x?xf32> {pe.name = "w"}) -> (!qkv {pe.name = "o"}) {
  // expected-error @below {{expected a tensor of unknown sizes with pe.axes = ["depth", "depth"], found 'tensor<8x?xf32>' without axes (dataflow-C20)}}
  %c = pe.content_fn project(%w : tensor<8x?xf32>) expr "exp(-abs(i - j))"
  %o = pe.attention %q, %k, %v content(%c) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!tokens = tensor<?x?x?xf32>

func.func @seed_of_tokens(%x: !tokens {pe.name = "x"}) -> (!tokens {pe.name = "y"}) {
  %seed = arith.constant dense<7> : tensor<i64>
  %e = pe.embedding_fn expr "p"
  // expected-error @below {{expected the seed to be an argument of the entry function, found the result of another op (dataflow-C10)}}
  %y = pe.embed %x, %e dropout(0.1, %seed : tensor<i64>) : !tokens
  return %y : !tokens
}

// -----

!tokens = tensor<?x?x?xf32>

// expected-error @below {{expected pe.axes ["batch"] of the seeds of pe.embed, found ["query"]; they may be omitted (dataflow-C6)}}
func.func @axes_of_seeds(%x: !tokens {pe.name = "x"}, %seed: tensor<?xi64> {pe.name = "seed", pe.axes = ["query"]})
    -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn expr "p"
  %y = pe.embed %x, %e dropout(0.1, %seed : tensor<?xi64>) : !tokens
  return %y : !tokens
}
