// RUN: pe-opt %s --pe-schedule-cpu=machine=x86-64-v4 --pe-tile-to-cpu | FileCheck %s
// RUN: pe-kernel-bench %s --r=70 --c=9

// Lanes with different indices gather their elements, at indices that are clamped as in scalar code;
// lanes with equal indices are one load. Only indices that differ between lanes are vectors.
// CHECK-LABEL: func.func @gathers_rows
// CHECK:         scf.for {{.*}} step %c32
// CHECK:           %[[AT:.*]] = vector.load {{.*}} vector<32xi32>
// CHECK:           %[[LOW:.*]] = arith.minsi %[[AT]], {{.*}} : vector<32xi32>
// CHECK:           %[[IN:.*]] = arith.maxsi %[[LOW]], {{.*}} : vector<32xi32>
// CHECK:           %[[HEAD:.*]] = vector.extract %[[IN]][0]
// CHECK:           %[[ALL:.*]] = vector.broadcast %[[HEAD]]
// CHECK:           %[[SAME:.*]] = arith.cmpi eq, %[[IN]], %[[ALL]]
// CHECK:           %[[ONE:.*]] = vector.reduction <and>, %[[SAME]]
// CHECK:           scf.if %[[ONE]] -> (vector<32xf32>) {
// CHECK:             memref.load
// CHECK:           } else {
// CHECK:             arith.muli {{.*}} : vector<32xi64>
// CHECK:             vector.gather {{.*}} : memref<{{.*}}xf32{{.*}}>, vector<32xi64>
// CHECK:           }
// CHECK:           vector.gather {{.*}} : memref<{{.*}}xf64{{.*}}>, vector<32xi64>
// CHECK:           vector.store
// CHECK:         scf.for {{.*}} step %c1
// CHECK-NOT:       vector
// CHECK:       tile.launch @gathers_rows
tile.plan @gathers attributes {head_dim = 0 : i64, value_dim = 0 : i64} {
  %places = tile.buffer "places" argument : !tile.buffer<[r], i32>
  %x = tile.buffer "x" argument : !tile.buffer<[32, c], f32>
  %z = tile.buffer "z" argument : !tile.buffer<[r, c], f64>
  %y = tile.buffer "y" result : !tile.buffer<[c, r], f32>
  tile.stage @rows forward over ["c"] {
    tile.foreach over ["r"] {
    ^bb0(%c: index, %r: index):
      %p = tile.read %places[%r] inbounds : !tile.buffer<[r], i32> -> i32
      %at = arith.index_cast %p : i32 to index
      %e = tile.read %x[%at, %c] : !tile.buffer<[32, c], f32> -> f32
      %f = tile.read %z[%r, %at] : !tile.buffer<[r, c], f64> -> f64
      %g = arith.truncf %f : f64 to f32
      %h = arith.addf %e, %g : f32
      tile.write %h, %y[%c, %r] : f32 -> !tile.buffer<[c, r], f32>
    }
  }
}
