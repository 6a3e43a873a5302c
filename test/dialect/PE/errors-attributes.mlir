// Misspelled, misplaced and unsupported attributes are errors (attribute-C1 and -C2 of docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

// A misspelled attribute is an error, so the default does not silently take effect.
func.func @misspelt_attribute(%s: tensor<?xf32>) {
  %x = pe.distance
  // expected-error @below {{no attributes except factor, rule, found 'factr'; did you mean 'factor'? (attribute-C1)}}
  %b = pe.linear %x slope(%s : tensor<?xf32>) {factr = -1.0}
  return
}

// -----

func.func @attribute_of_none() {
  // expected-error @below {{expected no attributes, found 'base'}}
  %x = pe.distance {base = 2.0}
  return
}

// -----

!t = tensor<1x2x8x16xf32>
func.func @not_built(%q: !t, %k: !t, %v: !t) -> !t {
  // CHECK: expected no attributes except attend_current, direction, dropout, normalizer, remainder, rotated_keys,
  // CHECK-SAME: {{^}} scale, scale_by_depth, found 'pe.softcap'; write score(%s) with %s = pe.score_fn (attribute-C1)
  // expected-error @below {{found 'pe.softcap'; write score(%s) with %s = pe.score_fn (attribute-C1)}}
  %o = pe.attention %q, %k, %v {pe.softcap = 30.0} : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x8x16xf32>
func.func @not_built_without_prefix(%q: !t, %k: !t, %v: !t) -> !t {
  // expected-error @below {{found 'softcap'; write score(%s) with %s = pe.score_fn (attribute-C1)}}
  %o = pe.attention %q, %k, %v {softcap = 30.0} : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

// An attribute that the op defines is an error if it has the prefix pe.
func.func @prefixed() {
  %x = pe.distance
  // expected-error @below {{found 'pe.factor'; write 'factor' (attribute-C1)}}
  %b = pe.linear %x {factor = -1.0, pe.factor = 1.0, rule = #pe.slope_rule<geometric>}
  return
}

// -----

func.func @misspelt_and_prefixed() {
  // expected-error @below {{no attributes except left, right, found 'pe.rihgt'; did you mean 'right'? (attribute-C1)}}
  %m = pe.sliding_window {left = 4, pe.rihgt = 1}
  return
}

// -----

func.func @another_dialects_attribute() {
  %m = pe.sliding_window {left = 4, test.note = 1}
  return
}

// -----

// CHECK: 'func.func' op expected attributes of pe only on its operations, arguments and results,
// CHECK-SAME: {{^}} found 'pe.softcap' (attribute-C2)
// expected-error-re @below {{expected attributes of pe only on{{.*}}, found 'pe.softcap' (attribute-C2)}}
func.func @on_a_function() attributes {pe.softcap = 30.0} {
  return
}
