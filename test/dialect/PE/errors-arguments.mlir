// One case per constraint of the attributes of function arguments (argument-C* of docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

// CHECK: expected pe.name, pe.init, pe.min, pe.decay, pe.monitor, pe.axes or pe.absent on an argument, found pe.inti;
// CHECK-SAME: {{^}} did you mean 'pe.init'? (argument-C1)
// expected-error @below {{on an argument, found pe.inti; did you mean 'pe.init'? (argument-C1)}}
func.func @unknown_attribute(%a: tensor<f32> {pe.inti = 1.0}) {
  return
}

// -----

// expected-error @below {{expected pe.name on a result, found pe.init (argument-C1)}}
func.func private @result_attribute() -> (tensor<f32> {pe.init = 1.0})

// -----

// expected-error @below {{expected pe.name to be a string, found 1 : i64 (argument-C2)}}
func.func @name(%a: tensor<f32> {pe.name = 1}) {
  return
}

// -----

// expected-error @below {{found "uniform(0)" (argument-C3)}}
func.func @init(%a: tensor<f32> {pe.init = "uniform(0)"}) {
  return
}

// -----

// expected-error @below {{found "normal(x)" (argument-C3)}}
func.func @init_number(%a: tensor<f32> {pe.init = "normal(x)"}) {
  return
}

// -----

// expected-error @below {{expected pe.min to be a finite number, found "0" (argument-C4)}}
func.func @min(%a: tensor<f32> {pe.min = "0"}) {
  return
}

// -----

// expected-error @below {{expected pe.decay to be true or false, found 0 : i64 (argument-C5)}}
func.func @decay(%a: tensor<f32> {pe.decay = 0}) {
  return
}

// -----

// CHECK: expected pe.monitor to be named expressions such as {L = "abs(L_multiplier) * 512"},
// CHECK-SAME: {{^}} found "abs(a)" (argument-C6)
// expected-error-re @below {{pe.monitor to be named expressions such as{{.*}}, found "abs(a)" (argument-C6)}}
func.func @monitor(%a: tensor<f32> {pe.monitor = "abs(a)"}) {
  return
}

// -----

// expected-error-re @below {{a formula as "L" of pe.monitor, found "abs("; at character 5:{{.*}}(argument-C7)}}
func.func @monitor_formula(%a: tensor<f32> {pe.monitor = {L = "abs("}}) {
  return
}

// -----

// expected-error @below {{a list of one word per dimension of 'tensor<?x?xf32>', found ["batch"] (argument-C8)}}
func.func @axes_count(%a: tensor<?x?xf32> {pe.axes = ["batch"]}) {
  return
}

// -----

// CHECK: expected an axis to be batch, head, kv_head, query, key, depth, value_depth, model or a name of letters,
// CHECK-SAME: {{^}} digits and _, found "my axis" (argument-C8)
// expected-error-re @below {{an axis to be batch, head, kv_head, query, key,{{.*}}found "my axis" (argument-C8)}}
func.func @axes_word(%a: tensor<4xf32> {pe.axes = ["my axis"]}) {
  return
}

// -----

// expected-error-re @below {{axis "key" to have an unknown size,{{.*}}or size 1, found 7; write ? (argument-C9)}}
func.func @axes_known_size(%a: tensor<7xf32> {pe.axes = ["key"]}) {
  return
}

// -----

// CHECK: expected an axis of unknown size to have a name that size expressions do not use, found "max";
// CHECK-SAME: {{^}} choose another name (argument-C10)
// expected-error @below {{size expressions do not use, found "max"; choose another name (argument-C10)}}
func.func @axes_unknown_size(%a: tensor<?xf32> {pe.axes = ["max"]}) {
  return
}

// -----

// CHECK: expected pe.absent to name another argument of rank 2 and of the same element type that is always given,
// CHECK-SAME: {{^}} found "f" (argument-C11)
// expected-error-re @below {{pe.absent to name another argument of rank 2{{.*}}always given, found "f" (argument-C11)}}
func.func @absent_rank(%f: tensor<?xf32> {pe.name = "f"}, %g: tensor<?x?xf32> {pe.absent = "f"}) {
  return
}

// -----

// expected-error @below {{found "f" (argument-C11)}}
func.func @absent_type(%f: tensor<?xi32> {pe.name = "f"}, %g: tensor<?xf32> {pe.absent = "f"}) {
  return
}

// -----

// expected-error @below {{found "g" (argument-C11)}}
func.func @absent_itself(%g: tensor<?xf32> {pe.name = "g", pe.absent = "g"}) {
  return
}

// -----

func.func @absent_chain(%f: tensor<?xf32> {pe.name = "f"}, %a: tensor<?xf32> {pe.name = "a", pe.absent = "f"},
                        // expected-error @below {{found "a" (argument-C11)}}
                        %g: tensor<?xf32> {pe.absent = "a"}) {
  return
}

// -----

// expected-error @below {{found 1 : i64 (argument-C11)}}
func.func @absent_number(%f: tensor<?xf32> {pe.name = "f"}, %g: tensor<?xf32> {pe.absent = 1}) {
  return
}

// -----

// expected-error @below {{found "integers(1)" (argument-C3)}}
func.func @init_integers(%a: tensor<4xi32> {pe.init = "integers(1)"}) {
  return
}

// -----

// These axes are valid: a size of 1 is shared, and a user-defined axis has a static or dynamic size.
func.func @axes(%a: tensor<1x?x8xf32> {pe.name = "a", pe.axes = ["batch", "key", "bins"]},
                %f: tensor<?x?xf32> {pe.axes = ["rank", "head"], pe.init = "integers(-3, 7)"},
                %c: tensor<?x?x?xf32> {pe.axes = ["batch", "query", "rank"], pe.absent = "a"}) {
  return
}
