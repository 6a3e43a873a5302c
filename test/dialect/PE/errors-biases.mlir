// One case per constraint of biases (docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

func.func @slope_and_rule(%s: tensor<?xf32>) {
  %x = pe.distance
  // expected-error @below {{expected either a slope or a rule, found both (linear-C1)}}
  %b = pe.linear %x slope(%s : tensor<?xf32>) {rule = #pe.slope_rule<geometric>}
  return
}

// -----

func.func @no_slope() {
  %x = pe.distance
  // expected-error @below {{expected either a slope or a rule, found neither (linear-C1)}}
  %b = pe.linear %x
  return
}

// -----

func.func @linear_factor(%s: tensor<?xf32>) {
  %x = pe.distance
  // expected-error @below {{expected a factor that is finite in f32, found 1.000000e+39 (linear-C2)}}
  %b = pe.linear %x slope(%s : tensor<?xf32>) {factor = 1.0e39}
  return
}

// -----

func.func @power_factor(%s: tensor<?xf32>) {
  %x = pe.distance
  // expected-error @below {{expected a factor that is finite in f32, found INF (power-C1)}}
  %b = pe.power %x exponent(%s : tensor<?xf32>) slope(%s : tensor<?xf32>) {factor = 0x7FF0000000000000 : f64}
  return
}

// -----

func.func @scale_factor(%s: tensor<?xf32>) {
  %x = pe.distance
  %b = pe.linear %x slope(%s : tensor<?xf32>)
  // expected-error @below {{expected a factor that is finite in f32, found nan (scale-C1)}}
  %c = pe.scale %b {factor = 0x7FF8000000000000 : f64}
  return
}

// -----

func.func @parameter_rank(%s: tensor<?x?xf32>) {
  %x = pe.distance
  // expected-error @below {{must be 0-d or 1-d (one number per head) f32 tensor, but got 'tensor<?x?xf32>'}}
  %b = pe.linear %x slope(%s : tensor<?x?xf32>)
  return
}

// -----

func.func @table_rank(%table: tensor<32xf32>) {
  %x = pe.bucket
  // expected-error @below {{must be 2D tensor of 32-bit float values, but got 'tensor<32xf32>'}}
  %b = pe.table %x, %table : tensor<32xf32>
  return
}

// -----

func.func @empty_table(%table: tensor<0x?xf32>) {
  %x = pe.bucket
  // expected-error @below {{expected at least one row, found 'tensor<0x?xf32>' (table-C1)}}
  %b = pe.table %x, %table : tensor<0x?xf32>
  return
}

// -----

func.func @unpaired_layers(%w: tensor<32xf32>) {
  %x = pe.distance
  // expected-error @below {{expected pairs of a weight and a bias, found 1 tensors (mlp-C1)}}
  %b = pe.mlp %x layers(%w : tensor<32xf32>)
  return
}

// -----

func.func @weight_rank(%w: tensor<32xf32>, %w2: tensor<32xf32>) {
  %x = pe.distance
  // expected-error @below {{expected the weight of layer 2 to have rank 2, found 'tensor<32xf32>' (mlp-C2)}}
  %b = pe.mlp %x layers(%w, %w, %w2, %w2 : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  return
}

// -----

func.func @weight_columns(%w: tensor<32xf32>, %w2: tensor<?x16xf32>, %b2: tensor<?xf32>) {
  %x = pe.distance
  // CHECK: expected the weight of layer 2 to have 32 columns, one per unit of the layer before it,
  // CHECK-SAME: {{^}} found 'tensor<?x16xf32>' (mlp-C3)
  // expected-error-re @below {{expected the weight of layer 2 to have 32 columns,{{.*}}'tensor<?x16xf32>' (mlp-C3)}}
  %b = pe.mlp %x layers(%w, %w, %w2, %b2 : tensor<32xf32>, tensor<32xf32>, tensor<?x16xf32>, tensor<?xf32>)
  return
}

// -----

func.func @bias_rank(%w: tensor<32xf32>, %b1: tensor<32x1xf32>) {
  %x = pe.distance
  // expected-error @below {{expected the bias of layer 1 to have rank 1, found 'tensor<32x1xf32>' (mlp-C4)}}
  %b = pe.mlp %x layers(%w, %b1 : tensor<32xf32>, tensor<32x1xf32>)
  return
}

// -----

func.func @bias_size(%w: tensor<32xf32>, %b1: tensor<16xf32>) {
  %x = pe.distance
  // CHECK: expected the bias of layer 1 to have 32 elements like the rows of 'tensor<32xf32>',
  // CHECK-SAME: {{^}} found 'tensor<16xf32>' (mlp-C5)
  // expected-error-re @below {{the bias of layer 1 to have 32 elements{{.*}}, found 'tensor<16xf32>' (mlp-C5)}}
  %b = pe.mlp %x layers(%w, %b1 : tensor<32xf32>, tensor<16xf32>)
  return
}

// -----

func.func @tolerance(%w: tensor<32xf32>, %b1: tensor<32xf32>) {
  %x = pe.distance
  // expected-error @below {{expected tolerance to be a finite number above 0, found 0.000000e+00 (mlp-C6)}}
  %b = pe.mlp %x layers(%w, %b1 : tensor<32xf32>, tensor<32xf32>) {tolerance = 0.0 : f64}
  return
}

// -----

func.func @no_terms() {
  %x = pe.relative
  // expected-error @below {{expected terms between 1 and 4096, found 0 (cosine_sum-C1)}}
  %b = pe.cosine_sum %x {terms = 0}
  return
}

// -----

func.func @cosine_base() {
  %x = pe.relative
  // expected-error @below {{expected base to be a finite number above 0, found -1.000000e+00 (cosine_sum-C2)}}
  %b = pe.cosine_sum %x {base = -1.0}
  return
}

// -----

func.func @scalar_cosine_sum(%x: f32) -> f32 {
  // expected-error @below {{expected terms between 1 and 4096, found 4097 (cosine_sum-C1)}}
  %y = pe.cosine_sum_eval %x {terms = 4097} : f32
  return %y : f32
}

// -----

func.func @bias_as_coordinate() {
  %x = pe.causal // expected-note {{prior use here}}
  // expected-error @below {{use of value '%x' expects different type than prior uses: '!pe.coordinate' vs '!pe.mask'}}
  %b = pe.linear %x {rule = #pe.slope_rule<geometric>}
  return
}
