// One case per constraint of factors and sinks (factor_fn-C*, sink_fn-C* and dropout_factor-C1 of docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

func.func @factor_arguments() {
  // expected-error@+1 {{expected 4 region arguments (b, h, i, j and one per capture), found 3 (factor_fn-C1)}}
  %f = pe.factor_fn {
  ^bb0(%b: index, %h: index, %i: index):
    %one = arith.constant 1.0 : f32
    pe.yield %one : f32
  }
  return
}

// -----

func.func @sink_arguments() {
  // expected-error@+1 {{expected 3 region arguments (b, h, i and one per capture), found 4 (sink_fn-C1)}}
  %s = pe.sink_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %one = arith.constant 1.0 : f32
    pe.yield %one : f32
  }
  return
}

// -----

func.func @factor_types() {
  // expected-error@+1 {{expected region argument 3 to have type 'index', found 'f32' (factor_fn-C2)}}
  %f = pe.factor_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: f32):
    pe.yield %j : f32
  }
  return
}

// -----

func.func @sink_types() {
  // expected-error@+1 {{expected region argument 2 to have type 'index', found 'f32' (sink_fn-C2)}}
  %s = pe.sink_fn {
  ^bb0(%b: index, %h: index, %i: f32):
    pe.yield %i : f32
  }
  return
}

// -----

func.func @factor_yields() {
  %f = pe.factor_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    // expected-error@+1 {{expected one f32 value, found 'index' (factor_fn-C3)}}
    pe.yield %i : index
  }
  return
}

// -----

func.func @sink_yields() {
  %s = pe.sink_fn {
  ^bb0(%b: index, %h: index, %i: index):
    // expected-error@+1 {{expected one f32 value, found 'index' (sink_fn-C3)}}
    pe.yield %i : index
  }
  return
}

// -----

// A sink belongs to a query, not to a pair, so it has no random draw.
func.func @sink_draws(%seed: tensor<i64>) {
  // expected-error-re@+1 {{operand #0 must be{{.*}}, but got 'tensor<i64>'}}
  %s = pe.sink_fn(%seed : tensor<i64>) {
  ^bb0(%b: index, %h: index, %i: index, %t: tensor<i64>):
    %x = pe.dropout_factor 0.1, %t : tensor<i64>
    pe.yield %x : f32
  }
  return
}

// -----

func.func @bias_draws() {
  %s = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %seed = arith.constant dense<1> : tensor<i64>
    // expected-error-re@-1 {{on single numbers, found 'arith.constant';{{.*}}(bias_fn-C4)}}
    %x = pe.dropout_factor 0.1, %seed : tensor<i64>
    pe.yield %x : f32
  }
  return
}

// -----

func.func @factor_ops() {
  %f = pe.factor_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    // expected-error-re@+1 {{on single numbers, found 'pe.distance';{{.*}}(factor_fn-C4)}}
    %d = pe.distance
    %one = arith.constant 1.0 : f32
    pe.yield %one : f32
  }
  return
}

// -----

func.func @sink_ops(%t: tensor<?xf32>) {
  %s = pe.sink_fn(%t : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %u: tensor<?xf32>):
    %x = pe.read %u[%h] : tensor<?xf32>
    // expected-error@+1 {{that every target has (docs/spec.md lists them), found 'math.asinh' (sink_fn-C5)}}
    %y = math.asinh %x : f32
    pe.yield %y : f32
  }
  return
}

// -----

func.func @factor_numbers() {
  %f = pe.factor_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    // expected-error@+1 {{i64 or index, found 'f16'; compute in a wider type (factor_fn-C6)}}
    %one = arith.constant 1.0 : f16
    %wide = arith.extf %one : f16 to f32
    pe.yield %wide : f32
  }
  return
}

// -----

func.func @seeds_of_pairs(%seeds: tensor<?x?xi64>) {
  // expected-error@+1 {{one per batch entry, found 'tensor<?x?xi64>'; captured integers are i32 (factor_fn-C7)}}
  %f = pe.factor_fn(%seeds : tensor<?x?xi64>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %s: tensor<?x?xi64>):
    %one = arith.constant 1.0 : f32
    pe.yield %one : f32
  }
  return
}

// -----

func.func @certain_dropout(%seed: tensor<i64>) {
  %f = pe.factor_fn(%seed : tensor<i64>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %s: tensor<i64>):
    // expected-error@+1 {{expected a probability of dropout in [0, 1), found 1.000000e+00 (dropout_factor-C1)}}
    %x = pe.dropout_factor 1.0, %s : tensor<i64>
    pe.yield %x : f32
  }
  return
}

// -----

func.func @per_query() {
  // expected-error @below {{expected a factor per query to read neither j nor a random draw (factor_fn-C8)}}
  %f = pe.factor_fn attributes {per_query} expr "exp(j - i)"
  return
}
