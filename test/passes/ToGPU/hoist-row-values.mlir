// RUN: pe-opt %s --pe-hoist-row-values | FileCheck %s

// Columns own the loop, so every CTA would compute %delta and %m of all rows. The store of %n after
// the stream moves with it, and the operands that only these values used are gone.
// CHECK-LABEL: tile.plan @columns
// CHECK: %[[ROWS:[0-9]+]] = tile.buffer {{.*}} temporary : <[b, hq, r], f32>
// CHECK: tile.stage @backward_rows backward over ["b", "hq"] {
// CHECK: %[[DELTA:.*]] = tile.reduce add over e
// CHECK: %[[M:.*]] = tile.map(%[[DELTA]])
// CHECK: %[[N:.*]] = tile.map(%[[DELTA]])
// CHECK: tile.store %[[M]], %[[ROWS]]
// CHECK: tile.store %[[N]], %{{.*}} : <[r], f32> -> <[b, hq, r], f32>
// CHECK: }
// CHECK: tile.stage @backward backward over ["b", "hkv"] schedule #step.gpu<owner = columns,
// CHECK-NOT: tile.reduce add over e
// CHECK: %[[LOADED:.*]] = tile.load %[[ROWS]] : <[b, hq, r], f32> -> <[r], f32>
// CHECK: tile.stream
// CHECK: tile.map(%{{.*}}, %[[LOADED]])
// CHECK: tile.store
// CHECK-NOT: tile.store
// CHECK: tile.plan
tile.plan @columns attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %O = tile.buffer "o" argument : !tile.buffer<[b, hq, r, e], f32>
  %C = tile.buffer "sums" result : !tile.buffer<[b, hkv, c], f32>
  %N = tile.buffer "twice" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @backward backward over ["b", "hkv"] schedule #step.gpu<owner = columns> {
    %o = tile.load %O : !tile.buffer<[b, hq, r, e], f32> -> !tile.val<[r, e], f32>
    %delta = tile.reduce add over e %o : !tile.val<[r, e], f32> -> !tile.val<[r], f32>
    %m = tile.map(%delta) : (!tile.val<[r], f32>) -> !tile.val<[r], f32> {
    ^bb0(%x: f32):
      %y = arith.mulf %x, %x : f32
      tile.yield %y : f32
    }
    %n = tile.map(%delta) : (!tile.val<[r], f32>) -> !tile.val<[r], f32> {
    ^bb0(%x: f32):
      %y = arith.addf %x, %x : f32
      tile.yield %y : f32
    }
    %s = tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      %y = tile.map(%x, %m) : (!tile.val<[r, c], f32>, !tile.val<[r], f32>) -> !tile.val<[r, c], f32> {
      ^bb0(%a: f32, %b: f32):
        %p = arith.mulf %a, %b : f32
        tile.yield %p : f32
      }
      %z = tile.reduce add over r %y : !tile.val<[r, c], f32> -> !tile.val<[c], f32>
      tile.yield %z : !tile.val<[c], f32>
    } : !tile.val<[c], f32>
    tile.store %s, %C : !tile.val<[c], f32> -> !tile.buffer<[b, hkv, c], f32>
    tile.store %n, %N : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}

// Rows own the loop: a map is computed once, where it is used; a reduction over depth is hoisted.
// CHECK-SAME: @rows
// CHECK: tile.stage @reduces_rows forward
// CHECK: tile.reduce add over e
// CHECK: tile.stage @reduces forward
// CHECK-NOT: tile.stage
// CHECK: tile.stage @maps forward
tile.plan @rows attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %O = tile.buffer "o" argument : !tile.buffer<[b, hq, r, e], f32>
  %X = tile.buffer "x" argument : !tile.buffer<[b, hq, r], f32>
  %L = tile.buffer "l" result : !tile.buffer<[b, hq, r], f32>
  %M = tile.buffer "m" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @reduces forward over ["b", "hq"] {
    %o = tile.load %O : !tile.buffer<[b, hq, r, e], f32> -> !tile.val<[r, e], f32>
    %delta = tile.reduce add over e %o : !tile.val<[r, e], f32> -> !tile.val<[r], f32>
    %s = tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      %y = tile.map(%x, %delta) : (!tile.val<[r, c], f32>, !tile.val<[r], f32>) -> !tile.val<[r, c], f32> {
      ^bb0(%a: f32, %b: f32):
        %p = arith.mulf %a, %b : f32
        tile.yield %p : f32
      }
      %z = tile.reduce add over c %y : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %z : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %L : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
  tile.stage @maps forward over ["b", "hq"] {
    %v = tile.load %X : !tile.buffer<[b, hq, r], f32> -> !tile.val<[r], f32>
    %m = tile.map(%v) : (!tile.val<[r], f32>) -> !tile.val<[r], f32> {
    ^bb0(%x: f32):
      %y = arith.mulf %x, %x : f32
      tile.yield %y : f32
    }
    %s = tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      %y = tile.map(%x, %m) : (!tile.val<[r, c], f32>, !tile.val<[r], f32>) -> !tile.val<[r, c], f32> {
      ^bb0(%a: f32, %b: f32):
        %p = arith.mulf %a, %b : f32
        tile.yield %p : f32
      }
      %z = tile.reduce add over c %y : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %z : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %M : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}
