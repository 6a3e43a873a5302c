// RUN: pe-opt %s --pe-tile-to-loops | FileCheck %s
// RUN: pe-opt %s --pe-schedule-gpu --pe-tile-to-gpu | FileCheck %s --check-prefix=GPU
// RUN: pe-opt %s | FileCheck %s --check-prefix=TEXT

// Scalar code declares its scratch memory. Lowerings allocate it outside of all loops, so that the
// stack does not grow; each loop of a stage has its own.
// TEXT: tile.foreach over ["r"]
// TEXT: %[[ROW:.*]] = tile.scratch : memref<4xf32>
// TEXT: memref.store %{{.*}}, %[[ROW]]

// CHECK-LABEL: func.func @networks_hidden
// CHECK-DAG: %[[A:.*]] = memref.alloca() : memref<4xf32>
// CHECK-DAG: %[[B:.*]] = memref.alloca() : memref<8xf64>
// CHECK: scf.for
// CHECK-NOT: memref.alloca
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[A]]
// CHECK: memref.load %[[A]]
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[B]]

// GPU-LABEL: llvm.func @networks_hidden
// GPU-DAG: llvm.alloca %{{.*}} x f32
// GPU-DAG: llvm.alloca %{{.*}} x f64
// GPU: scf.for
// GPU-NOT: llvm.alloca
// GPU: llvm.return
tile.plan @networks attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %X = tile.buffer "x" result : !tile.buffer<[r], f32>
  %Y = tile.buffer "y" result : !tile.buffer<[c], f64>
  tile.stage @hidden forward over [] {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %row = tile.scratch : memref<4xf32>
      %one = arith.constant 1.0 : f32
      scf.for %n = %c0 to %c4 step %c1 {
        memref.store %one, %row[%n] : memref<4xf32>
      }
      %x = memref.load %row[%c3] : memref<4xf32>
      tile.write %x, %X[%i] : f32 -> !tile.buffer<[r], f32>
      tile.yield
    }
    tile.foreach over ["c"] {
    ^bb0(%j: index):
      %row = tile.scratch : memref<8xf64>
      %one = arith.constant 1.0 : f64
      memref.store %one, %row[%c3] : memref<8xf64>
      %y = memref.load %row[%c3] : memref<8xf64>
      tile.write %y, %Y[%j] : f64 -> !tile.buffer<[c], f64>
      tile.yield
    }
  }
}
