// A formula may name a captured argument by its SSA name or by its pe.name. The SSA name has priority.
// RUN: pe-opt %s --verify-roundtrip | FileCheck %s
// RUN: not pe-opt %S/Inputs/argument-names-errors.mlir 2>&1 | FileCheck %s --check-prefix=ERROR

// CHECK-LABEL: @both
// CHECK: pe.read %{{.*}}[%{{.*}}, %{{.*}}] : tensor<?x?xi32>
// CHECK: pe.read %{{.*}}[%{{.*}}, %{{.*}}] : tensor<?x?xi32>
func.func @both(%ty: tensor<?x?xi32> {pe.axes = ["batch", "key"], pe.name = "type"}) -> !pe.bias {
  %0 = pe.bias_fn(%ty : tensor<?x?xi32>) expr "ty[b, j] - type[b, j]"
  return %0 : !pe.bias
}

// CHECK-LABEL: @wins
// CHECK: ^bb0({{.*}}, %[[B:arg[0-9]+]]: tensor<f32>, %{{arg[0-9]+}}: tensor<?xf32>):
// CHECK-NEXT: pe.read %[[B]][] : tensor<f32>
func.func @wins(%x: tensor<f32> {pe.name = "y"},
                %y: tensor<?xf32> {pe.name = "z"}) -> !pe.bias {
  %0 = pe.bias_fn(%x, %y : tensor<f32>, tensor<?xf32>) expr "x + y[h]"
  return %0 : !pe.bias
}

// A name that let defines shadows a pe.name. Sums can use a pe.name.
// CHECK-LABEL: @inside
func.func @inside(%t: tensor<?xf32> {pe.name = "wave"}) -> !pe.bias {
  %0 = pe.bias_fn(%t : tensor<?xf32>)
      expr "let d = i - j in sum(k < size(wave, 0), wave[k] * d) + wave[h]"
  return %0 : !pe.bias
}

// ERROR: argument-names-errors.mlir:3:{{[0-9]+}}: error: {{.*}}expected a captured tensor (ty or type), found 'kind'
