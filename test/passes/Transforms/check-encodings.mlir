// Programs that the check accepts and leaves unchanged.
// RUN: pe-opt %s --pe-check-encodings=entry=attention | FileCheck %s
// RUN: not pe-opt %s --pe-check-encodings=entry=nothing 2>&1 | FileCheck %s --check-prefix=ENTRY
// RUN: not pe-opt %s --pe-check-encodings 2>&1 | FileCheck %s --check-prefix=SEVERAL

// ENTRY: error: expected a public function @nothing as the entry, found @attention, @other (program-C1)
// SEVERAL: check-encodings.mlir:[[#@LINE+18]]:1: error: expected one public function, found @attention, @other

// Private functions may pass encodings and need no names.
// CHECK-LABEL: func private @recency
func.func private @recency(%x: !pe.coordinate, %s: tensor<?xf32>) -> !pe.bias {
  %b = pe.linear %x slope(%s : tensor<?xf32>)
  return %b : !pe.bias
}

// CHECK-LABEL: func @attention
func.func @attention(%s: tensor<?xf32> {pe.name = "s"}) {
  // CHECK: call @recency
  %x = pe.distance
  %b = call @recency(%x, %s) : (!pe.coordinate, tensor<?xf32>) -> !pe.bias
  return
}

// Only the entry's tensors are matched by name.
func.func @other(%a: tensor<f32>) { return }
