// RUN: pe-opt %s --pe-tile-to-loops="block-rows=2 block-columns=3" --canonicalize --cse | FileCheck %s
// The code for a machine without bf16 and tf32 support; TypesTest.cpp compares the results bitwise.

// CHECK-LABEL: func.func @halves_s
// CHECK-SAME:    memref<1xbf16>
// CHECK-NOT:     tf32
// CHECK:         memref.load %{{.*}} : memref<{{.*}}xbf16
// CHECK:         arith.bitcast %{{.*}} : bf16 to i16
// CHECK:         %[[BITS:.*]] = arith.shli
// CHECK:         %[[WIDE:.*]] = arith.bitcast %[[BITS]] : i32 to f32
// CHECK:         %[[UP:.*]] = arith.addi %[[BITS]], %c4096_i32
// CHECK:         %[[KEPT:.*]] = arith.andi %[[UP]], %c-8192_i32
// CHECK:         %[[NUMBER:.*]] = arith.cmpf ord, %[[WIDE]], %[[WIDE]]
// CHECK:         %[[ROUNDED:.*]] = arith.bitcast %[[KEPT]] : i32 to f32
// CHECK:         arith.select %[[NUMBER]], %[[ROUNDED]], %[[WIDE]] : f32
// CHECK:         %[[X:.*]] = memref.load %{{.*}} : memref<2x8xf32>
// CHECK:         %[[NAN:.*]] = arith.cmpf une, %[[X]], %[[X]] : f32
// CHECK:         arith.addi %{{.*}}, %c32767_i32
// CHECK:         arith.select %[[NAN]],
// CHECK-NOT:     arith.extf
// CHECK-NOT:     arith.truncf
tile.plan @halves attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], bf16>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r, d], bf16>
  tile.stage @s forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], bf16> -> !tile.val<[r, d], bf16>
    %t = tile.map(%q) : (!tile.val<[r, d], bf16>) -> !tile.val<[r, d], tf32> {
    ^bb0(%x: bf16):
      %0 = arith.extf %x : bf16 to f32
      %1 = arith.truncf %0 to_nearest_away : f32 to tf32
      tile.yield %1 : tf32
    }
    %o = tile.map(%t) : (!tile.val<[r, d], tf32>) -> !tile.val<[r, d], bf16> {
    ^bb0(%x: tf32):
      %0 = arith.extf %x : tf32 to f32
      %1 = arith.truncf %0 : f32 to bf16
      tile.yield %1 : bf16
    }
    tile.store %o, %O : !tile.val<[r, d], bf16> -> !tile.buffer<[b, hq, r, d], bf16>
  }
}
