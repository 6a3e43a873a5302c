// One case per refusal of a normalizer by name (docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

!t = tensor<?x?x?x?xf32>
func.func @misspelt(%q: !t) {
  // expected-error @below {{failed to parse PE_NormalizerAttr}}
  // expected-error-re @below {{expected softmax, {{.*}} or softpick, found 'sigmiod'; did you mean 'sigmoid'?}}
  %o = pe.attention %q, %q, %q {normalizer = #pe.normalizer<sigmiod>} : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @unknown(%q: !t) {
  // expected-error @below {{failed to parse PE_NormalizerAttr}}
  // expected-error @below {{expected softmax, stick_breaking, sigmoid or softpick, found 'entmax'}}
  %o = pe.attention %q, %q, %q {normalizer = #pe.normalizer<entmax>} : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @statistic_of_sigmoid(%q: !t) {
  // expected-error @below {{one result under sigmoid, found two; only softmax or stick_breaking has a second one}}
  %o, %l = pe.attention %q, %q, %q {normalizer = #pe.normalizer<sigmoid>} : (!t, !t, !t) -> !t, tensor<?x?x?xf32>
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @statistic_of_softpick(%q: !t) {
  // expected-error-re @below {{one result under softpick, found two;{{.*}}(normalizer-C1)}}
  %o, %l = pe.attention %q, %q, %q {normalizer = #pe.normalizer<softpick>} : (!t, !t, !t) -> !t, tensor<?x?x?xf32>
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @sink_of_sigmoid(%q: !t, %s: tensor<?xf32>) {
  // expected-error @below {{no sink(...) under sigmoid, which has no denominator that a sink could join (sink-C1)}}
  %o = pe.attention %q, %q, %q sink(%s : tensor<?xf32>) {normalizer = #pe.normalizer<sigmoid>} : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @sink_of_softpick(%q: !t, %s: tensor<?xf32>) {
  // expected-error @below {{no sink(...) under softpick, where only keys join the denominator; use softmax (sink-C1)}}
  %o = pe.attention %q, %q, %q sink(%s : tensor<?xf32>) {normalizer = #pe.normalizer<softpick>} : (!t, !t, !t) -> !t
  return
}

// -----

!t = tensor<?x?x?x?xf32>
func.func @order_of_softpick(%q: !t) {
  // expected-error @below {{attend_current only under stick_breaking, found it under softpick (stick_breaking-C1)}}
  %o = pe.attention %q, %q, %q {normalizer = #pe.normalizer<softpick>, attend_current} : (!t, !t, !t) -> !t
  return
}

// -----

!o = tensor<?x?x?x?xf32>
!r = tensor<?x?x?xf32>
func.func @merge_of_sigmoid(%a: !o, %l: !r) {
  // expected-error @below {{normalizer softmax or stick_breaking, found sigmoid: its calls have no second result}}
  %o, %lse = pe.merge %a, %l, %a, %l {normalizer = #pe.normalizer<sigmoid>} : (!o, !r, !o, !r) -> !o, !r
  return
}

// -----

!o = tensor<?x?x?x?xf32>
!r = tensor<?x?x?xf32>
func.func @merge_of_softpick(%a: !o, %l: !r) {
  // expected-error @below {{found softpick: its calls have no second result to merge by (merge-C6)}}
  %o, %lse = pe.merge %a, %l, %a, %l {normalizer = #pe.normalizer<softpick>} : (!o, !r, !o, !r) -> !o, !r
  return
}
