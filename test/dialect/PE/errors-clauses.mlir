// One case per constraint of the clauses of pe.attention, its sinks, its dropout and its value content
// (clause-C*, sink-C*, dropout-C* and value_content-C* of docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

func.func @unknown_clause(%q: tensor<?x?x?x?xf32>) {
  %m = pe.causal
  // CHECK: expected bias(...), prologue(...), rotate(...), rotate_values(...), content(...), query(...),
  // CHECK-SAME: {{^}} value_content(...), score(...), sink(...), factor(...), dropout(...), positions(...), mask(...),
  // CHECK-SAME: {{^}} pages(...), attributes or ':' with the types, found 'foo' (clause-C1)
  // expected-error-re @below {{expected bias(...),{{.*}}or ':' with the types, found 'foo' (clause-C1)}}
  %o = pe.attention %q, %q, %q foo(%m)
      : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @clause_order(%q: tensor<?x?x?x?xf32>) {
  %m = pe.causal
  // CHECK: expected the clauses in the order bias(...) prologue(...) rotate(...) rotate_values(...) content(...)
  // CHECK-SAME: {{^}} query(...)
  // CHECK-SAME: {{^}} value_content(...) score(...) sink(...) factor(...) dropout(...) positions(...) mask(...)
  // CHECK-SAME: {{^}} pages(...),
  // CHECK-SAME: {{^}} found rotate after mask (clause-C3)
  // expected-error-re @below {{the clauses in the order bias(...){{.*}}, found rotate after mask (clause-C3)}}
  %o = pe.attention %q, %q, %q mask(%m) rotate(%m)
      : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @clause_twice(%q: tensor<?x?x?x?xf32>) {
  %m = pe.causal
  // expected-error @below {{expected one clause mask(...), found two; combine masks by pe.mask_and (clause-C3)}}
  %o = pe.attention %q, %q, %q mask(%m) mask(%m)
      : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @empty_clause(%q: tensor<?x?x?x?xf32>) {
  %m = pe.causal
  // expected-error @below {{expected a bias in bias(...), found none; omit the clause (clause-C4)}}
  %o = pe.attention %q, %q, %q bias() mask(%m)
      : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @sink_under_stick_breaking(%q: !t, %s: tensor<?xf32>) {
  %mask = pe.causal
  // expected-error-re @below {{expected no sink(...) under stick_breaking, which has no denominator{{.*}}(sink-C1)}}
  %o = pe.attention %q, %q, %q sink(%s : tensor<?xf32>) mask(%mask) {normalizer = #pe.normalizer<stick_breaking>}
      : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x4x?x?xf32>
func.func @sinks_of_other_heads(%q: !t, %s: tensor<3xf32>) {
  // expected-error @below {{expected the heads of the sinks to match the 4 of the query, found 3 (sink-C2)}}
  %o = pe.attention %q, %q, %q sink(%s : tensor<3xf32>) : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @probability_without_seed(%q: !t) {
  // expected-error @below {{both a probability of dropout and a seed, found only the probability (dropout-C1)}}
  %o = pe.attention %q, %q, %q {dropout = 0.1} : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @nothing_is_left(%q: !t, %seed: tensor<i64>) {
  // expected-error @below {{expected a probability of dropout in [0, 1), found 1.000000e+00 (dropout-C2)}}
  %o = pe.attention %q, %q, %q dropout(1.0, %seed : tensor<i64>) : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @negative_probability(%q: !t, %seed: tensor<i64>) {
  // expected-error @below {{expected a probability of dropout in [0, 1), found -1.000000e-01 (dropout-C2)}}
  %o = pe.attention %q, %q, %q dropout(-0.1, %seed : tensor<i64>) : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<2x?x?x?xf32>
func.func @seeds_of_another_batch(%q: !t, %seed: tensor<3xi64>) {
  // expected-error @below {{expected the batch of the seeds to match the 2 of the query, found 3 (dropout-C3)}}
  %o = pe.attention %q, %q, %q dropout(0.1, %seed : tensor<3xi64>) : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>

func.func @value_content_of_stick_breaking(%q: !t, %k: !t, %v: !t, %r: tensor<33x?xf32>) {
  %c = pe.content_fn(%r : tensor<33x?xf32>) expr "r[clamp(i - j, -16, 16) + 16, d]"
  %m = pe.strict_causal
  // CHECK: expected no value_content(...) under stick_breaking, found one;
  // CHECK-SAME: {{^}} it is added only to the output of softmax (value_content-C1)
  // expected-error-re @below {{no value_content(...) under stick_breaking, found one;{{.*}}(value_content-C1)}}
  %o = pe.attention %q, %k, %v value_content(%c) mask(%m) {normalizer = #pe.normalizer<stick_breaking>}
      : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>

func.func @value_content_with_a_shift(%q: !t, %k: !t, %v: !t, %r: tensor<33x?xf32>, %s: tensor<?x?xf32>) {
  %c = pe.content_fn(%r : tensor<33x?xf32>) shift(%s : tensor<?x?xf32>) expr "r[clamp(i - j, -16, 16) + 16, d]"
  // CHECK: expected a value_content(...) without shift(...), which applies to queries,
  // CHECK-SAME: {{^}} found one with it (value_content-C2)
  // expected-error-re @below {{value_content(...) without shift(...),{{.*}}, found one with it (value_content-C2)}}
  %o = pe.attention %q, %k, %v value_content(%c) : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x4x?x64xf32>
func.func @factors_twice(%q: !t, %f: !pe.factor) {
  // expected-error @below {{expected one clause factor(...), found two; write factor(%a, %b) (clause-C3)}}
  %o = pe.attention %q, %q, %q factor(%f) factor(%f) : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x4x?x64xf32>
func.func @no_factors(%q: !t) {
  // expected-error @below {{expected a factor in factor(...), found none; omit the clause (clause-C4)}}
  %o = pe.attention %q, %q, %q factor() : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x4x?x64xf32>
func.func @sink_value_under_stick_breaking(%q: !t, %s: !pe.sink) {
  %mask = pe.causal
  // expected-error @below {{under stick_breaking, which has no denominator that a sink could join (sink-C1)}}
  %o = pe.attention %q, %q, %q sink(%s) mask(%mask) {normalizer = #pe.normalizer<stick_breaking>} : (!t, !t, !t) -> !t
  return
}
