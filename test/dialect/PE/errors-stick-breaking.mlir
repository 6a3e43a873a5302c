// One case per constraint of stick-breaking (stick_breaking-C* and attention-C9 of docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

!t = tensor<?x?x?x?xf32>
func.func @current_of_softmax(%q: !t) {
  // expected-error @below {{attend_current only under stick_breaking, found it under softmax (stick_breaking-C1)}}
  %o = pe.attention %q, %q, %q {attend_current} : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @remainder_of_softmax(%q: !t) {
  // expected-error-re @below {{remainder = #pe.remainder<value> only{{.*}}found it under softmax (stick_breaking-C1)}}
  %o = pe.attention %q, %q, %q {remainder = #pe.remainder<value>} : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @sides_of_softmax(%q: !t) {
  // expected-error-re @below {{direction = #pe.direction<both> only{{.*}}, found it under softmax (stick_breaking-C1)}}
  %o = pe.attention %q, %q, %q {direction = #pe.direction<both>} : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @two_masses(%q: !t) {
  // CHECK: expected one result under direction = #pe.direction<both>, which has a remaining mass on each side,
  // CHECK-SAME: {{^}} found two (stick_breaking-C2)
  // expected-error-re @below {{one result under direction = #pe.direction<both>,{{.*}}, found two (stick_breaking-C2)}}
  %o, %m = pe.attention %q, %q, %q {normalizer = #pe.normalizer<stick_breaking>, direction = #pe.direction<both>}
      : (!t, !t, !t) -> !t, tensor<?x?x?xf32>
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @no_later_keys(%q: !t) {
  %m = pe.causal
  // CHECK: expected a mask that allows keys on both sides of a query for direction = #pe.direction<both>,
  // CHECK-SAME: {{^}} found one without later keys (stick_breaking-C3)
  // expected-error-re @below {{keys on both sides of a query{{.*}}, found one without later keys (stick_breaking-C3)}}
  %o = pe.attention %q, %q, %q mask(%m) {normalizer = #pe.normalizer<stick_breaking>, direction = #pe.direction<both>}
      : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @no_earlier_keys(%q: !t) {
  %m = pe.sliding_window {left = 1}
  // expected-error @below {{for direction = #pe.direction<both>, found one without earlier keys (stick_breaking-C3)}}
  %o = pe.attention %q, %q, %q mask(%m) {normalizer = #pe.normalizer<stick_breaking>, direction = #pe.direction<both>}
      : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @own_value_masked(%q: !t) {
  %m = pe.strict_causal
  // CHECK: expected a mask that allows a query's own key, j = i, for remainder = #pe.remainder<value>,
  // CHECK-SAME: {{^}} found a mask that never does; use pe.causal (stick_breaking-C4)
  // expected-error-re @below {{own key, j = i, for remainder = #pe.remainder<value>,{{.*}}(stick_breaking-C4)}}
  %o = pe.attention %q, %q, %q mask(%m) {normalizer = #pe.normalizer<stick_breaking>, remainder = #pe.remainder<value>}
      : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @own_key_masked(%q: !t) {
  %m = pe.strict_causal
  // expected-error @below {{for attend_current, found a mask that never does; use pe.causal (stick_breaking-C4)}}
  %o = pe.attention %q, %q, %q mask(%m) {normalizer = #pe.normalizer<stick_breaking>, attend_current}
      : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @no_order(%q: !t) {
  // expected-error-re @below {{a mask that implies j <= i for stick_breaking, found none;{{.*}}(attention-C9)}}
  %o = pe.attention %q, %q, %q {normalizer = #pe.normalizer<stick_breaking>, attend_current} : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @content_on_both_sides(%q: !t, %r: tensor<9x?xf32>) {
  %c = pe.content_fn(%r : tensor<9x?xf32>) expr "r[clamp(i - j, -4, 4) + 4, d]"
  // CHECK: expected no content(...) under direction = #pe.direction<both>, found one;
  // CHECK-SAME: {{^}} add a term that depends only on i - j as a bias (stick_breaking-C5)
  // expected-error-re @below {{no content(...) under direction = #pe.direction<both>, found{{.*}}(stick_breaking-C5)}}
  %o = pe.attention %q, %q, %q content(%c)
      {normalizer = #pe.normalizer<stick_breaking>, direction = #pe.direction<both>}
      : (!t, !t, !t) -> !t
  return
}
