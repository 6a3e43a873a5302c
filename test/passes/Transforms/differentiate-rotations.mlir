// Gradients of the tensors of rotations are pulled back from those of the rotated queries and keys.
// RUN: pe-opt %examples/rope_table.mlir --pe-prepare --pe-differentiate | FileCheck %s

// CHECK: func.func private @attention_grad
// CHECK:      %[[R:.*]] = pe.rotation_table
// CHECK:      %{{.*}}, %{{.*}}, %{{.*}}, %[[A:.*]] = pe.attention_grad
// CHECK:      %[[D:.*]]:2 = pe.prologue_pullback %[[R]], %[[A]] : !pe.rotation -> tensor<?x?xf32>, tensor<?x?xf32>
// CHECK:      return {{.*}}%[[D]]#0, %[[D]]#1
