// RUN: pe-opt %s --pe-schedule-cpu=machine=x86-64-v4+avx512bf16 --pe-tile-to-cpu --split-input-file | FileCheck %s

// Contractions of bf16 by pairs. Before the stream, queries are packed in words of two depths. A
// contraction over depth loads words of two depths of a key from memory as they are; the weights are rounded to
// bf16, and stored as words of two keys when both exist; one over keys reads these words and those of a
// block of values, which is packed once for all strips.
// CHECK-LABEL: func.func @rows_forward(
// CHECK-DAG:     %[[KEYS:.*]] = memref.reinterpret_cast {{.*}} : memref<1xbf16> to memref<?xbf16
// CHECK-DAG:     %[[VALUES:.*]] = memref.alloca() {alignment = 64 : i64} : memref<768xf32>
// CHECK-DAG:     %[[WEIGHTS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<2048xf32>
// The queries:
// CHECK:         vector.shuffle {{.*}} [0, 16, 1, 17, {{.*}}] : vector<16xbf16>, vector<16xbf16>
// The block of values, whose last key may have no neighbour:
// CHECK:         scf.for
// CHECK-COUNT-2:   vector.load %{{.*}} : {{.*}}, vector<16xbf16>
// CHECK:           vector.shuffle {{.*}} [0, 16, 1, 17, {{.*}}] : vector<16xbf16>, vector<16xbf16>
// CHECK:           vector.store %{{.*}}, %[[VALUES]]
// CHECK:         scf.if
// The scores:
// CHECK:         %[[PAIR:.*]] = vector.load %{{.*}} : {{.*}}, vector<2xbf16>
// CHECK:         vector.bitcast %[[PAIR]] : vector<2xbf16> to vector<1xf32>
// CHECK:         llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"({{.*}}) : (vector<16xf32>, vector<32xbf16>,
// The weights:
// CHECK:         vector.shuffle {{.*}} [0, 16,
// CHECK:         vector.store %{{.*}}, %[[WEIGHTS]]
// The outputs:
// CHECK:         memref.load %[[VALUES]]
// CHECK:         llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// In a masked block the halves of masked pairs are zero if a result is NaN.
// CHECK:         arith.cmpf uno
// CHECK:         scf.if
// CHECK:         arith.andi {{.*}} : vector<16xi32>
// CHECK-NOT:     vector.fma
// CHECK:         tile.launch @rows_forward
tile.plan @rows attributes {head_dim = 24 : i64, value_dim = 24 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], bf16>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], bf16>
  %V = tile.buffer "v" argument : !tile.buffer<[b, hkv, c, e], bf16>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r, e], f32>
  %pairs = tile.pairs band(right = 1)
  tile.stage @forward forward over ["b", "hq"] pairs %pairs {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], bf16> -> !tile.val<[r, d], bf16>
    %o0 = tile.constant 0.0 : !tile.val<[r, e], f32>
    %o = tile.stream ascending carry(%o0 : !tile.val<[r, e], f32>) {
    ^bb0(%oc: !tile.val<[r, e], f32>):
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], bf16> -> !tile.val<[c, d], bf16>
      %v = tile.load %V : !tile.buffer<[b, hkv, c, e], bf16> -> !tile.val<[c, e], bf16>
      %s = tile.dot %q, %k over d : !tile.val<[r, d], bf16>, !tile.val<[c, d], bf16> -> !tile.val<[r, c], f32>
      %m = tile.mask %s fill 0.0 : !tile.val<[r, c], f32>
      %w = tile.map(%m) : (!tile.val<[r, c], f32>) -> !tile.val<[r, c], bf16> {
      ^bb0(%x: f32):
        %y = arith.truncf %x : f32 to bf16
        tile.yield %y : bf16
      }
      %on = tile.dot %w, %v over c init(%oc : !tile.val<[r, e], f32>)
        : !tile.val<[r, c], bf16>, !tile.val<[c, e], bf16> -> !tile.val<[r, e], f32>
      tile.yield %on : !tile.val<[r, e], f32>
    } : !tile.val<[r, e], f32>
    tile.store %o, %O : !tile.val<[r, e], f32> -> !tile.buffer<[b, hq, r, e], f32>
  }
}

// -----

// A contraction over rows reads words of two rows, of the weights and of the panel, which is packed before the
// stream. With a depth of 24, the last vector has 8 lanes.
// CHECK-LABEL: func.func @columns_backward(
// CHECK:         llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.256"({{.*}}) : (vector<8xf32>, vector<16xbf16>,
// CHECK-NOT:     vector.fma
tile.plan @columns attributes {head_dim = 24 : i64, value_dim = 24 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], bf16>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], bf16>
  %G = tile.buffer "d_k" gradient : !tile.buffer<[b, hkv, c, d], bf16>
  tile.stage @backward backward over ["b", "hkv"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], bf16> -> !tile.val<[r, d], bf16>
    %g = tile.stream any {
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], bf16> -> !tile.val<[c, d], bf16>
      %s = tile.dot %q, %k over d : !tile.val<[r, d], bf16>, !tile.val<[c, d], bf16> -> !tile.val<[r, c], f32>
      %m = tile.mask %s fill 0.0 : !tile.val<[r, c], f32>
      %w = tile.map(%m) : (!tile.val<[r, c], f32>) -> !tile.val<[r, c], bf16> {
      ^bb0(%x: f32):
        %y = arith.truncf %x : f32 to bf16
        tile.yield %y : bf16
      }
      %dk = tile.dot %w, %q over r : !tile.val<[r, c], bf16>, !tile.val<[r, d], bf16> -> !tile.val<[c, d], f32>
      tile.yield %dk : !tile.val<[c, d], f32>
    } : !tile.val<[c, d], f32>
    tile.store %g, %G : !tile.val<[c, d], f32> -> !tile.buffer<[b, hkv, c, d], bf16>
  }
}
