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
  // expected-error-re @below {{expected at least one result, found none{{.*}}(dataflow-C1)}}
  return
}

// -----

func.func @argument_as_result(%q: tensor<?xf32> {pe.name = "q"}) -> (tensor<?xf32> {pe.name = "o"}) {
  // expected-error-re @below {{expected result 0 to be produced by pe.attention,{{.*}}found an argument (dataflow-C2)}}
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
  // expected-error-re @below {{expected queries to be an{{.*}}found the result of another op{{.*}}(dataflow-C4)}}
  %p = pe.attention %o, %k2, %v2 : (!qkv, !qkv, !qkv) -> !qkv
  return %p : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

// expected-note @below {{this argument}}
func.func @keys_as_values(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}) -> (!qkv {pe.name = "o"}) {
  // expected-error-re @below {{expected keys to have no other use, found 2 uses{{.*}}(dataflow-C5)}}
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

// expected-error-re @below {{expected pe.axes {{.*}}"query", "depth"]{{.*}}found {{.*}}"key", {{.*}}(dataflow-C6)}}
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
  // expected-error-re @below {{expected an argument of one{{.*}}found one with pe.axes ["key"]{{.*}}(dataflow-C7)}}
  %b = pe.linear %x slope(%s : tensor<?xf32>)
  %o = pe.attention %q, %k, %v bias(%b) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @two_unknown_sizes(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
    // expected-error-re @below {{expected pe.axes on an argument with{{.*}}found 'tensor<?x?xf32>'{{.*}}(dataflow-C8)}}
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
  // expected-error-re @below {{expected sinks, seeds, positions and pages{{.*}}result of another op (dataflow-C10)}}
  %o = pe.attention %q, %k, %v sink(%two : tensor<4xf32>) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @axes_of_a_sink(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
    // expected-error-re @below {{expected pe.axes ["head"] of this operand of{{.*}}found ["key"]{{.*}}(dataflow-C6)}}
    %sink: tensor<?xf32> {pe.name = "sink", pe.axes = ["key"]}) -> (!qkv {pe.name = "o"}) {
  %o = pe.attention %q, %k, %v sink(%sink : tensor<?xf32>) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @constant_in_score(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %two = arith.constant dense<2.0> : tensor<f32>
  // expected-error-re @below {{expected captures to be{{.*}}found the result of another op{{.*}}(dataflow-C9)}}
  %s = pe.score_fn(%two : tensor<f32>) expr "s * two"
  %o = pe.attention %q, %k, %v score(%s) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

func.func @absent_slopes(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                         %a: tensor<?xf32> {pe.name = "a"},
                         // expected-error-re @below {{expected an argument with pe.absent to be{{.*}}(dataflow-C15)}}
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
