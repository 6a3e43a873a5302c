// RUN: pe-opt %s --pe-tile-to-gpu | FileCheck %s
// RUN: pe-opt %s --pe-tile-to-gpu | FileCheck %s --check-prefix=LAUNCH
// RUN: pe-opt %s --pe-fuse-loops | FileCheck %s --check-prefix=FUSED

// All iterations of the last index add to one element: the lanes of a warp add their terms as a tree, and the last lane
// adds the result to memory. It continues with the sum.
// LAUNCH: tile.launch @lanes_sum finish items "ceildiv(hq*32,128)"
// CHECK-LABEL: llvm.func @lanes_sum(
// CHECK-NOT: scf.for
// CHECK: %[[X:.*]] = arith.extf %{{.*}} : f32 to f64
// CHECK: %[[BITS:.*]] = llvm.bitcast %[[X]] : f64 to i64
// CHECK: nvvm.shfl.sync bfly
// CHECK: nvvm.shfl.sync bfly
// CHECK: arith.addf %[[X]], %
// CHECK-COUNT-8: nvvm.shfl.sync bfly
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK-NOT: shfl
// CHECK: scf.if
// CHECK: %[[OLD:.*]] = llvm.load
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]], %[[SUM]]
// CHECK: llvm.store %[[NEW]]
// CHECK: scf.if
// CHECK: arith.truncf
// CHECK-NOT: shfl
// CHECK-LABEL: llvm.func @lanes_own(

// Both loops of the second plan are executed by one thread per head: lanes would add at different elements, and only
// some of them would add.
// CHECK-NOT: shfl
// CHECK-LABEL: llvm.func @fuse_add(
// LAUNCH: tile.launch @others_places finish items "ceildiv(1,128)"
// LAUNCH: tile.launch @others_some finish items "ceildiv(hq,128)"

// The loop that reads the sums becomes code of the last lane.
// FUSED-LABEL: tile.plan @fuse
// FUSED: tile.foreach over ["hq", "32"] {
// FUSED-NEXT: ^bb0(%[[H:.*]]: index, %[[L:.*]]: index):
// FUSED: tile.accumulate %{{.*}}, %[[S:.*]][%[[H]]]
// FUSED: %[[LAST:.*]] = arith.constant 31 : index
// FUSED: %[[IS:.*]] = arith.cmpi eq, %[[L]], %[[LAST]] : index
// FUSED: scf.if %[[IS]] {
// FUSED: tile.read %[[S]][%[[H]]]
// FUSED: tile.write
// FUSED-NOT: tile.foreach
tile.plan @lanes attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %X = tile.buffer "x" argument : !tile.buffer<[hq, 32], f32>
  %S = tile.buffer "s" temporary {zero} : !tile.buffer<[hq], f64>
  %G = tile.buffer "g" gradient : !tile.buffer<[hq], f32>
  %W = tile.buffer "w" temporary {zero} : !tile.buffer<[hq, 32], f32>
  tile.stage @sum finish over [] {
    tile.foreach over ["hq", "32"] {
    ^bb0(%h: index, %l: index):
      %x = tile.read %X[%h, %l] : !tile.buffer<[hq, 32], f32> -> f32
      tile.accumulate %x, %S[%h] : f32 -> !tile.buffer<[hq], f64>
      %last = arith.constant 31 : index
      %is = arith.cmpi eq, %l, %last : index
      scf.if %is {
        %s = tile.read %S[%h] : !tile.buffer<[hq], f64> -> f64
        %t = arith.truncf %s : f64 to f32
        tile.write %t, %G[%h] : f32 -> !tile.buffer<[hq], f32>
      }
      tile.yield
    }
  }
  tile.stage @own finish over [] { // every lane has its element
    tile.foreach over ["hq", "32"] {
    ^bb0(%h: index, %l: index):
      %x = tile.read %X[%h, %l] : !tile.buffer<[hq, 32], f32> -> f32
      tile.accumulate %x, %W[%h, %l] : f32 -> !tile.buffer<[hq, 32], f32>
      tile.yield
    }
  }
}

tile.plan @others attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %X = tile.buffer "x" argument : !tile.buffer<[hq, 32], f32>
  %S = tile.buffer "s" temporary {zero} : !tile.buffer<[8], f64>
  %T = tile.buffer "t" temporary {zero} : !tile.buffer<[hq], f64>
  tile.stage @places finish over [] {
    tile.foreach over ["32"] {
    ^bb0(%l: index):
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %n = arith.divui %l, %c4 : index
      %x = tile.read %X[%c0, %l] : !tile.buffer<[hq, 32], f32> -> f32
      tile.accumulate %x, %S[%n] : f32 -> !tile.buffer<[8], f64>
      tile.yield
    }
  }
  tile.stage @some finish over [] {
    tile.foreach over ["hq", "32"] {
    ^bb0(%h: index, %l: index):
      %x = tile.read %X[%h, %l] : !tile.buffer<[hq, 32], f32> -> f32
      %c0 = arith.constant 0.0 : f32
      %is = arith.cmpf ogt, %x, %c0 : f32
      scf.if %is {
        tile.accumulate %x, %T[%h] : f32 -> !tile.buffer<[hq], f64>
      }
      tile.yield
    }
  }
}

tile.plan @fuse attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %X = tile.buffer "x" argument : !tile.buffer<[hq, 32], f32>
  %S = tile.buffer "s" temporary {zero} : !tile.buffer<[hq], f32>
  %G = tile.buffer "g" gradient : !tile.buffer<[hq], f32>
  tile.stage @add finish over [] {
    tile.foreach over ["hq", "32"] {
    ^bb0(%h: index, %l: index):
      %x = tile.read %X[%h, %l] : !tile.buffer<[hq, 32], f32> -> f32
      tile.accumulate %x, %S[%h] : f32 -> !tile.buffer<[hq], f32>
      tile.yield
    }
  }
  tile.stage @round finish over [] {
    tile.foreach over ["hq"] {
    ^bb0(%h: index):
      %s = tile.read %S[%h] : !tile.buffer<[hq], f32> -> f32
      tile.write %s, %G[%h] : f32 -> !tile.buffer<[hq], f32>
      tile.yield
    }
  }
}
