// One case per constraint of regions and of function arguments (docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

func.func @argument_count(%p: tensor<?xf32>) {
  // expected-error @below {{expected 5 region arguments (b, h, i, j and one per capture), found 4 (bias_fn-C1)}}
  %0 = pe.bias_fn(%p : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.constant 1.0 : f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @argument_type(%p: tensor<?xf32>) {
  // expected-error @below {{expected region argument 4 to have type 'tensor<?xf32>', found 'tensor<4xf32>' (bias_fn-C2)}}
  %0 = pe.bias_fn(%p : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %q: tensor<4xf32>):
    %x = arith.constant 1.0 : f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @yielded_type() {
  %0 = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    // expected-error @below {{expected one f32 value, found 'index' (bias_fn-C3)}}
    pe.yield %i : index
  }
  return
}

// -----

func.func @terminator() {
  // expected-error @below {{expected the region to end with pe.yield (bias_fn-C3)}}
  %0 = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    llvm.unreachable
  }
  return
}

// -----

func.func @foreign_op() {
  %0 = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    // expected-error @below {{expected ops of arith, math or pe on single numbers, found 'test.op'; a region is scalar code; read tensors with pe.read (bias_fn-C4)}}
    %x = "test.op"() : () -> f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @tensor_op(%p: tensor<?xf32>) {
  %0 = pe.bias_fn(%p : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %q: tensor<?xf32>):
    // expected-error @below {{expected ops of arith, math or pe on single numbers, found 'math.exp'}}
    %y = math.exp %q : tensor<?xf32>
    %x = pe.read %y[%h] : tensor<?xf32>
    pe.yield %x : f32
  }
  return
}

// -----

// Captures are explicit: the region cannot use values from outside.
func.func @implicit_capture(%p: tensor<?xf32>) {
  // expected-note @below {{required by region isolation constraints}}
  %0 = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    // expected-error @below {{using value defined outside the region}}
    %x = pe.read %p[%h] : tensor<?xf32>
    pe.yield %x : f32
  }
  return
}

// -----

func.func @read_rank(%t: tensor<32x?xf32>, %i: index) {
  // expected-error @below {{expected one index per dimension of 'tensor<32x?xf32>', found 1 (read-C1)}}
  %x = pe.read %t[%i] : tensor<32x?xf32>
  return
}

// -----

func.func @read_out_of_range(%t: tensor<32x?xf32>, %h: index) {
  %i = arith.constant 32 : index
  // expected-error @below {{expected index 0 to be in [0, 32), found 32 (read-C2)}}
  %x = pe.read %t[%i, %h] : tensor<32x?xf32>
  return
}

// -----

// expected-error @below {{expected pe.name, pe.init, pe.min, pe.decay, pe.monitor, pe.axes or pe.absent on an argument, found pe.inti; did you mean 'pe.init'? (argument-C1)}}
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

// expected-error @below {{expected pe.monitor to be named expressions such as {L = "abs(L_multiplier) * 512"}, found "abs(a)" (argument-C6)}}
func.func @monitor(%a: tensor<f32> {pe.monitor = "abs(a)"}) {
  return
}

// -----

// expected-error @below {{expected a formula as "L" of pe.monitor, found "abs("; at character 5: expected a number, a name or '(', found the end (argument-C7)}}
func.func @monitor_formula(%a: tensor<f32> {pe.monitor = {L = "abs("}}) {
  return
}

// -----

func.func @unknown_op() {
  %b = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c = arith.constant 1.0 : f32
    // expected-error @below {{expected an op of arith or math that every target has (docs/spec.md lists them), found 'math.asinh' (bias_fn-C5)}}
    %x = math.asinh %c : f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @narrow_integer() {
  %b = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c = arith.constant 1.0 : f32
    // expected-error @below {{expected numbers of type f32, f64, i1, i8, i16, i32, i64 or index, found 'i7'; compute in a wider type (bias_fn-C6)}}
    %x = arith.index_cast %i : index to i7
    pe.yield %c : f32
  }
  return
}

// -----

func.func @narrow_float() {
  %b = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c = arith.constant 1.0 : f32
    // expected-error @below {{expected numbers of type f32, f64, i1, i8, i16, i32, i64 or index, found 'bf16'; compute in a wider type (bias_fn-C6)}}
    %x = arith.truncf %c : f32 to bf16
    pe.yield %c : f32
  }
  return
}

// -----

// expected-error @below {{expected pe.axes to be a list of one word per dimension of 'tensor<?x?xf32>', found ["batch"] (argument-C8)}}
func.func @axes_count(%a: tensor<?x?xf32> {pe.axes = ["batch"]}) {
  return
}

// -----

// expected-error @below {{expected an axis to be batch, head, kv_head, query, key, depth, value_depth, model or a name of letters, digits and _, found "my axis" (argument-C8)}}
func.func @axes_word(%a: tensor<4xf32> {pe.axes = ["my axis"]}) {
  return
}

// -----

// expected-error @below {{expected the axis "key" to have an unknown size, set by a call, or size 1, found 7; write ? (argument-C9)}}
func.func @axes_known_size(%a: tensor<7xf32> {pe.axes = ["key"]}) {
  return
}

// -----

// expected-error @below {{expected an axis of unknown size to have a name that size expressions do not use, found "max"; choose another name (argument-C10)}}
func.func @axes_unknown_size(%a: tensor<?xf32> {pe.axes = ["max"]}) {
  return
}

// -----

// expected-error @below {{expected pe.absent to name another argument of rank 2 and of the same element type that is always given, found "f" (argument-C11)}}
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

// expected-error @below {{found "a" (argument-C11)}}
func.func @absent_chain(%f: tensor<?xf32> {pe.name = "f"}, %a: tensor<?xf32> {pe.name = "a", pe.absent = "f"}, %g: tensor<?xf32> {pe.absent = "a"}) {
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

// Correct: a size of 1 is shared, and a user-defined axis has a static or dynamic size.
func.func @axes(%a: tensor<1x?x8xf32> {pe.name = "a", pe.axes = ["batch", "key", "bins"]},
                %f: tensor<?x?xf32> {pe.axes = ["rank", "head"], pe.init = "integers(-3, 7)"},
                %c: tensor<?x?x?xf32> {pe.axes = ["batch", "query", "rank"], pe.absent = "a"}) {
  return
}

// -----

func.func @score_argument_count() {
  // expected-error @below {{expected 5 region arguments (s, b, h, i, j and one per capture), found 4 (score_fn-C1)}}
  %0 = pe.score_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.constant 1.0 : f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @score_argument_type() {
  // expected-error @below {{expected region argument 0 to have type 'f32', found 'index' (score_fn-C2)}}
  %0 = pe.score_fn {
  ^bb0(%s: index, %b: index, %h: index, %i: index, %j: index):
    %x = arith.constant 1.0 : f32
    pe.yield %x : f32
  }
  return
}

// -----

func.func @score_yielded_type() {
  %0 = pe.score_fn {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    // expected-error @below {{expected one f32 value, found 'index' (score_fn-C3)}}
    pe.yield %i : index
  }
  return
}

// -----

func.func @score_foreign_op() {
  %0 = pe.score_fn {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    // expected-error @below {{expected ops of arith, math or pe on single numbers, found 'test.op'; a region is scalar code; read tensors with pe.read (score_fn-C4)}}
    %x = "test.op"() : () -> f32
    pe.yield %x : f32
  }
  return
}
