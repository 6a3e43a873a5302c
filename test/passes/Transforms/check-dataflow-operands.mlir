// One case per constraint dataflow-C* of docs/spec.md on rotations, documents, content terms and positions.
// RUN: pe-opt %s --pe-prepare --split-input-file --verify-diagnostics -o /dev/null

!qkv = tensor<?x?x?x?xf32>

func.func @rotation_of_constant(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %b = arith.constant dense<1000.0> : tensor<f32>
  // expected-error-re @below {{expected its tensors to be{{.*}}found the result of another op (dataflow-C16)}}
  %r = pe.rotary %b : tensor<f32>
  %o = pe.attention %q, %k, %v rotate(%r) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @rotation_of_unnamed(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
// expected-error-re @below {{expected axis 0, which pe.rotation_fn reads at{{.*}}found no pe.axes (dataflow-C25)}}
                               %w: tensor<?xf32> {pe.name = "w"}) -> (!qkv {pe.name = "o"}) {
  %r = pe.rotation_fn(%w : tensor<?xf32>) expr "sum(t < 4, w[t]) * p"
  %o = pe.attention %q, %k, %v rotate(%r) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @rotation_of_heads(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
// expected-error-re @below {{expected axis 0, which pe.rotation_fn reads at p, to have{{.*}}found head (dataflow-C25)}}
                             %w: tensor<?xf32> {pe.name = "w", pe.axes = ["head"]}) -> (!qkv {pe.name = "o"}) {
  %r = pe.rotation_fn(%w : tensor<?xf32>) expr "w[p]"
  %o = pe.attention %q, %k, %v rotate(%r) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @rotation_of_tokens(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
// expected-error-re @below {{expected axis 0, which pe.rotation_fn reads at p, to have{{.*}}found key (dataflow-C25)}}
                              %w: tensor<?xf32> {pe.name = "w", pe.axes = ["key"]}) -> (!qkv {pe.name = "o"}) {
  %r = pe.rotation_fn(%w : tensor<?xf32>) expr "w[p]"
  %o = pe.attention %q, %k, %v rotate(%r) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @boundaries(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                      %cu: tensor<?xi32> {pe.name = "cu"}) -> (!qkv {pe.name = "o"}) {
  // expected-error-re @below {{expected the boundaries of documents to be an{{.*}}found another one (dataflow-C21)}}
  %m = pe.documents %cu : tensor<?xi32>
  %o = pe.attention %q, %k, %v mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @content_of_positions(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                                %t: tensor<?x?xf32> {pe.name = "t", pe.axes = ["rows", "depth"]})
    -> (!qkv {pe.name = "o"}) {
  // expected-error-re @below {{expected a content term that{{.*}}found one that depends on i{{.*}}(dataflow-C19)}}
  %c = pe.content_fn(%t : tensor<?x?xf32>) expr "t[i, d]"
  %o = pe.attention %q, %k, %v content(%c) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>
func.func @shared_positions(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                            %p: tensor<?x?xi32> {pe.name = "p"}) -> (!qkv {pe.name = "o"}) {
  // expected-error-re @below {{expected separate arguments for the positions{{.*}}found one for both (dataflow-C22)}}
  %o = pe.attention %q, %k, %v positions(%p, %p : tensor<?x?xi32>, tensor<?x?xi32>) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @axes_of_shift(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                         %u: tensor<?x?xf32> {pe.name = "u", pe.axes = ["depth", "head"]})
    -> (!qkv {pe.name = "o"}) {
  // expected-error-re @below {{expected a tensor of{{.*}}found 'tensor<?x?xf32>' with other axes (dataflow-C20)}}
  %p = pe.query_shift %u : tensor<?x?xf32>
  %o = pe.attention %q, %k, %v prologue(%p) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @axes_of_projection(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                              %w: tensor<8x?xf32> {pe.name = "w"}) -> (!qkv {pe.name = "o"}) {
  // expected-error-re @below {{expected a tensor of unknown{{.*}}found 'tensor<8x?xf32>' without axes (dataflow-C20)}}
  %c = pe.content_fn project(%w : tensor<8x?xf32>) expr "exp(-abs(i - j))"
  %o = pe.attention %q, %k, %v content(%c) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @dropped(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  // expected-error @below {{expected no attribute 'dropped', which is for biases that passes remove (dataflow-C26)}}
  %o = pe.attention %q, %k, %v {dropped = ["a bias"]} : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @queries_with_other_use(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                                  %r: tensor<?x?x?x8xf32> {pe.name = "r"}) -> (!qkv {pe.name = "o"}) {
  %c = pe.content_fn expr "exp(-abs(i - j) / (1 + d))"
  %e = pe.content_fn expr "exp(-abs(i - j) / (2 + d))"
  // expected-error-re @below {{in query(...) to be arguments{{.*}}found one with other uses;{{.*}}(dataflow-C27)}}
  %o = pe.attention %q, %k, %v content(%c, %e) query(%r, %r : tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @axes_of_queries(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
// expected-error-re @below {{expected pe.axes ["batch", "head", "query", "rank"] of this operand{{.*}}(dataflow-C6)}}
                           %r: tensor<?x?x?x8xf32> {pe.name = "r", pe.axes = ["batch", "head", "key", "rank"]})
    -> (!qkv {pe.name = "o"}) {
  %c = pe.content_fn expr "exp(-abs(i - j) / (1 + d))"
  %o = pe.attention %q, %k, %v content(%c) query(%r : tensor<?x?x?x8xf32>) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @axes_of_positions(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
    // expected-error-re @below {{["axes", "batch", "query"] of positions by axis,{{.*}}"key"]{{.*}}(dataflow-C6)}}
    %p: tensor<3x?x?xi32> {pe.name = "p", pe.axes = ["axes", "batch", "key"]}) -> (!qkv {pe.name = "o"}) {
  %r = pe.rotary positions(%p : tensor<3x?x?xi32>) {sections = [3, 2, 3]}
  %o = pe.attention %q, %k, %v rotate(%r) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
