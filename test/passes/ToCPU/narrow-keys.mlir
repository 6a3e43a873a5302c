// RUN: pe-opt %s --pe-schedule-cpu --pe-tile-to-cpu --split-input-file | FileCheck %s

// Keys in 16 bits. The block of keys is extended to rows of f32 in scratch memory, once for all
// strips of the item, and no key after the last is read. Every product reads these rows.
// CHECK-LABEL: func.func @rows_forward(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<1xf32>, %[[K:[a-z0-9]+]]: memref<1xbf16>,
// CHECK-DAG:     %[[KEYS:.*]] = memref.reinterpret_cast %[[K]] {{.*}} : memref<1xbf16> to memref<?xbf16
// CHECK-DAG:     %[[PACKED:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1536xf32>
// CHECK:         scf.for
// CHECK:         scf.for
// CHECK:           %[[REST:.*]] = arith.subi
// CHECK:           %[[COUNT:.*]] = arith.minsi %c64, %[[REST]]
// CHECK:           scf.for %{{.*}} = %{{.*}} to %[[COUNT]] step
// CHECK:             scf.for
// CHECK:               %[[STORED:.*]] = vector.load %[[KEYS]][{{.*}}] : {{.*}}, vector<8xbf16>
// CHECK:               %[[BITS:.*]] = arith.bitcast %[[STORED]] : vector<8xbf16> to vector<8xi16>
// CHECK:               %[[LOW:.*]] = arith.extui %[[BITS]] : vector<8xi16> to vector<8xi32>
// CHECK:               %[[HIGH:.*]] = arith.shli %[[LOW]], %{{.*}} : vector<8xi32>
// CHECK:               %[[WIDE:.*]] = arith.bitcast %[[HIGH]] : vector<8xi32> to vector<8xf32>
// CHECK:               vector.store %[[WIDE]], %[[PACKED]]
// CHECK:           scf.for
// CHECK-NOT:         %[[KEYS]]
// CHECK:             memref.load %[[PACKED]]
// CHECK:             vector.fma
// CHECK-NOT:         %[[KEYS]]
// CHECK:         tile.launch @rows_forward
tile.plan @rows attributes {head_dim = 24 : i64, value_dim = 24 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], bf16>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @forward forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %s0 = tile.constant 0.0 : !tile.val<[r], f32>
    %s = tile.stream ascending carry(%s0 : !tile.val<[r], f32>) {
    ^bb0(%sc: !tile.val<[r], f32>):
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], bf16> -> !tile.val<[c, d], f32>
      %x = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %xb = tile.reduce max over c %x : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %xb : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %O : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}

// -----

// A depth with a remainder, f16, and columns that own the loop: a block is extended once for all
// parts of the rows.
// CHECK-LABEL: func.func @columns_backward(
// CHECK:         %[[PACKED:.*]] = memref.alloca() {alignment = 64 : i64} : memref<1280xf32>
// CHECK-COUNT-2: arith.extf {{.*}} : vector<{{8|4}}xf16> to vector<{{8|4}}xf32>
// CHECK-NOT:     arith.extf
// CHECK:         memref.load %[[PACKED]]
// CHECK-NOT:     arith.extf
tile.plan @columns attributes {head_dim = 20 : i64, value_dim = 20 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f16>
  %G = tile.buffer "d_k" gradient : !tile.buffer<[b, hkv, c, d], f32>
  tile.stage @backward backward over ["b", "hkv"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %g = tile.stream any {
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f16> -> !tile.val<[c, d], f32>
      %x = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %gb = tile.dot %x, %q over r : !tile.val<[r, c], f32>, !tile.val<[r, d], f32> -> !tile.val<[c, d], f32>
      tile.yield %gb : !tile.val<[c, d], f32>
    } : !tile.val<[c, d], f32>
    tile.store %g, %G : !tile.val<[c, d], f32> -> !tile.buffer<[b, hkv, c, d], f32>
  }
}
