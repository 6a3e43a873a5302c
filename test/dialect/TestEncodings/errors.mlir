// The rules for ops of pe also apply to ops of another dialect: messages name the op at the user's line.
// RUN: pe-test-opt %s --split-input-file --pe-prepare --pe-expand-functions --pe-expand-biases \
// RUN:   --pe-split-terms --pe-place-positions --verify-diagnostics

!t = tensor<?x?x?x?xf32>
func.func @content(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"})
    -> (!t {pe.name = "o"}) {
  // expected-error @below {{found one that depends on i; write terms of only i or only j as a bias (dataflow-C19)}}
  %c = test_encodings.crossed
  %o = pe.attention %q, %k, %v content(%c) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @axes(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                %u: tensor<?x?xf32> {pe.name = "u", pe.axes = ["head", "rows"]})
    -> (!t {pe.name = "o"}) {
  // expected-error @below {{pe.axes = ["head", "depth"], found 'tensor<?x?xf32>' with other axes (dataflow-C20)}}
  %p = test_encodings.query_shift %u : tensor<?x?xf32>
  %o = pe.attention %q, %k, %v prologue(%p) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @tokens(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                  %height: tensor<?xf32> {pe.name = "height", pe.axes = ["key"]})
    -> (!t {pe.name = "o"}) {
  %x = test_encodings.square_root_distance
  // expected-error-re @below {{one value per head, found one with pe.axes ["key"];{{.*}}(dataflow-C7)}}
  %b = test_encodings.bump %x height(%height : tensor<?xf32>)
  %o = pe.attention %q, %k, %v bias(%b) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

func.func @embedding(%x: tensor<?x?x?xf32> {pe.name = "x"},
                     // expected-error-re @below {{of a tensor that an embedding reads to count{{.*}}, found key}}
                     %table: tensor<?x?xf32> {pe.name = "table", pe.axes = ["key", "model"]},
                     %rate: tensor<?xf32> {pe.name = "rate", pe.axes = ["model"]})
    -> (tensor<?x?x?xf32> {pe.name = "y"}) {
  %e = test_encodings.rows_and_wave %table, %rate : tensor<?x?xf32>, tensor<?xf32>
  %y = pe.embed %x, %e : tensor<?x?x?xf32>
  return %y : tensor<?x?x?xf32>
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @boundaries(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                      %starts: tensor<?xi32> {pe.name = "starts"}) -> (!t {pe.name = "o"}) {
  // expected-error-re @below {{the boundaries of documents to be an argument{{.*}}whose axis has a user-defined name}}
  %m = test_encodings.packed %starts : tensor<?xi32>
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @two_restarts(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                        %a: tensor<?xi32> {pe.name = "a", pe.axes = ["first"]},
                        %b: tensor<?xi32> {pe.name = "b", pe.axes = ["second"]})
    -> (!t {pe.name = "o"}) {
  %one = pe.documents %a : tensor<?xi32> {restart = true}
  // expected-error @below {{expected positions to restart in one set of documents, found two (documents-C2)}}
  %two = test_encodings.packed %b : tensor<?xi32> {restart}
  %m = pe.mask_and %one, %two
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @widths(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                  %steep: tensor<?xf32> {pe.name = "steep"}, %rise: tensor<?x5xf32> {pe.name = "rise"})
    -> (!t {pe.name = "o"}) {
  %x = pe.distance
  // expected-error @below {{op expected hidden layers of static sizes, found 'tensor<?xf32>'}}
  %b = test_encodings.hinges %x, %steep, %steep, %rise, %steep
      : tensor<?xf32>, tensor<?xf32>, tensor<?x5xf32>, tensor<?xf32>
  %o = pe.attention %q, %k, %v bias(%b) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @joined(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                  %i: tensor<?x?xi32> {pe.name = "i"}, %j: tensor<?x?xi32> {pe.name = "j"})
    -> (!t {pe.name = "o"}) {
  %causal = pe.causal
  // expected-error @below {{read no positions if positions are data, found 'test_encodings.even_sum' (positions-C7)}}
  %m = test_encodings.even_sum %causal
  %o = pe.attention %q, %k, %v positions(%i, %j : tensor<?x?xi32>, tensor<?x?xi32>) mask(%m)
      : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @sink_of_keys(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                        %start: tensor<?xf32> {pe.name = "start"},
                        %rise: tensor<?x?xf32> {pe.name = "rise", pe.axes = ["batch", "key"]})
    -> (!t {pe.name = "o"}) {
  // expected-error-re @below {{no data of keys, found pe.axes ["batch", "key"];{{.*}}(dataflow-C24)}}
  %s = test_encodings.rising_sink %start, %rise : tensor<?xf32>, tensor<?x?xf32>
  %o = pe.attention %q, %k, %v sink(%s) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @factor_of_vectors(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                             %table: tensor<9x?xf32> {pe.name = "table", pe.axes = ["distance", "value_depth"]},
                             %rate: tensor<?xf32> {pe.name = "rate"}) -> (!t {pe.name = "o"}) {
  %c = test_encodings.near_vectors %table : tensor<9x?xf32>
  %f = test_encodings.fade %rate : tensor<?xf32>
  // expected-error-re @below {{no factor(...) together with value_content(...), found one;{{.*}}(dataflow-C23)}}
  %o = pe.attention %q, %k, %v value_content(%c) factor(%f) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @seeds_of_heads(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                          %gate: tensor<?x?x?xf32> {pe.name = "gate", pe.axes = ["batch", "head", "key"]},
                          // expected-error @below {{found ["head"]; they may be omitted (dataflow-C6)}}
                          %seed: tensor<?xi64> {pe.name = "seed", pe.axes = ["head"]}) -> (!t {pe.name = "o"}) {
  %f = test_encodings.thinned %gate, %seed : tensor<?x?x?xf32>, tensor<?xi64>
  %o = pe.attention %q, %k, %v factor(%f) : (!t, !t, !t) -> !t
  return %o : !t
}
