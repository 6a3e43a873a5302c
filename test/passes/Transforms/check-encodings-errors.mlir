// One case per constraint program-C* of docs/spec.md, each at the user's line.
// RUN: pe-opt %s --pe-check-encodings --split-input-file --verify-diagnostics

// expected-error @below {{expected a public function to compile, found none (program-C1)}}
module {
  func.func private @only() { return }
}

// -----

func.func @first() { return }
// expected-error-re @below {{expected one public function, found @first, @second{{.*}}(program-C1)}}
func.func @second() { return }

// -----

// expected-error-re @below {{expected argument 0 of a public function to be a{{.*}}found '!pe.bias'{{.*}}(program-C2)}}
func.func @encoding_argument(%b: !pe.bias) { return }

// -----

// expected-error @below {{expected result 0 of a public function to be a tensor, found '!pe.mask'}}
func.func @encoding_result() -> !pe.mask {
  %m = pe.causal
  return %m : !pe.mask
}

// -----

// expected-error-re @below {{expected argument 1 of the entry function to have a name, found none{{.*}}(program-C3)}}
func.func @no_name(%a: tensor<f32> {pe.name = "a"}, %b: tensor<f32>) { return }

// -----

// expected-error @below {{expected result 0 of the entry function to have a name, found none}}
func.func @no_result_name(%a: tensor<f32> {pe.name = "a"}) -> tensor<f32> { return %a : tensor<f32> }

// -----

// expected-error @below {{expected argument 0 to have a name of letters, digits and '_', found "a b" (program-C4)}}
func.func @bad_name(%a: tensor<f32> {pe.name = "a b"}) { return }

// -----

// expected-error-re @below {{expected argument 0 to have a name that does not{{.*}}found "d_a"{{.*}}(program-C5)}}
func.func @gradient_name(%a: tensor<f32> {pe.name = "d_a"}) { return }

// -----

// expected-note @+2 {{first used here}}
// expected-error @below {{expected argument 1 to have a unique name, found "a" twice (program-C6)}}
func.func @same_name(%a: tensor<f32> {pe.name = "a"}, %b: tensor<f32> {pe.name = "a"}) { return }

// -----

// A choice between encodings at run time is rejected, and so is a loop that carries an encoding.
func.func @control_flow() {
  %true = arith.constant true
  %d = pe.distance
  // expected-error-re @below {{expected encoding values to go directly{{.*}}found them at 'scf.if'{{.*}}(program-C7)}}
  %b = scf.if %true -> !pe.bias {
    %x = pe.linear %d {rule = #pe.slope_rule<geometric>}
    scf.yield %x : !pe.bias
  } else {
    %y = pe.linear %d {rule = #pe.slope_rule<interleaved>}
    scf.yield %y : !pe.bias
  }
  return
}

// -----

func.func @select() {
  %true = arith.constant true
  %a = pe.causal
  %b = pe.strict_causal
  // expected-error @below {{found them at 'arith.select'}}
  %m = arith.select %true, %a, %b : !pe.mask
  return
}

// -----

// expected-note @below {{declared here}}
func.func private @elsewhere() -> !pe.bias
func.func @call_of_declaration() {
  // expected-error-re @below {{expected @elsewhere to have a body, found a declaration{{.*}}(program-C8)}}
  %b = call @elsewhere() : () -> !pe.bias
  return
}

// -----

func.func private @a() {
  call @b() : () -> ()
  return
}
func.func private @b() {
  // expected-error-re @below {{expected no recursion, found a call of @a inside its own execution{{.*}}(program-C9)}}
  call @a() : () -> ()
  return
}
func.func @recursion() {
  call @a() : () -> ()
  return
}

// -----

// expected-error @below {{expected a function without branches, found 2 blocks (program-C10)}}
func.func @branches() {
  cf.br ^bb1
^bb1:
  return
}

// -----

func.func @foreign_op(%q: tensor<?x?x?x?xf32> {pe.name = "q"}) {
  // expected-error-re @below {{expected ops of the pe dialect, constants,{{.*}}found 'arith.addf'{{.*}}(program-C11)}}
  %0 = arith.addf %q, %q : tensor<?x?x?x?xf32>
  return
}

// -----

// expected-error @below {{expected only functions in the module, found 'memref.global' (program-C11)}}
memref.global @g : memref<4xf32>
func.func @entry() { return }

// -----

// expected-error-re @below {{expected argument 0 to be a tensor of f32, bf16, f16,{{.*}}found 'index' (program-C12)}}
func.func @index_argument(%n: index {pe.name = "n"}) { return }

// -----

// expected-error-re @below {{expected argument 0 to be a tensor of f32,{{.*}}found 'tensor<4xf64>' (program-C12)}}
func.func @double_argument(%x: tensor<4xf64> {pe.name = "x"}) { return }
