// Stages over splits of the keys, the stream that merges them, and conditions of stages and launches.
// RUN: pe-opt %s --verify-roundtrip | FileCheck %s
// RUN: pe-opt %s --mlir-print-op-generic | pe-opt | FileCheck %s

// CHECK: tile.plan @p attributes {head_dim = 8 : i64, key_split = 64 : i64, value_dim = 4 : i64} {
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64, key_split = 64 : i64} {
  // CHECK: tile.buffer "s" temporary : <[b, hq, ks, r], f32>
  %F = tile.buffer "f" argument : !tile.buffer<[b, hkv, c], f32>
  %S = tile.buffer "s" temporary : !tile.buffer<[b, hq, ks, r], f32>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  // CHECK: tile.stage @splits forward over ["b", "hkv", "ks"] when "9 - r" {
  tile.stage @splits forward over ["b", "hkv", "ks"] when "9 - r" {
    %zero = tile.constant 0.0 : !tile.val<[r], f32>
    %sum = tile.stream ascending carry(%zero : !tile.val<[r], f32>) {
    ^bb0(%x: !tile.val<[r], f32>):
      tile.yield %x : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %sum, %S : !tile.val<[r], f32> -> !tile.buffer<[b, hq, ks, r], f32>
  }
  // CHECK: tile.stage @merge forward over ["b", "hq"] when "9 - r" {
  // CHECK: tile.stream descending over_splits carry(
  // CHECK: tile.load %{{.*}} : <[b, hq, ks, r], f32> -> <[r], f32>
  tile.stage @merge forward over ["b", "hq"] when "9 - r" {
    %zero = tile.constant 0.0 : !tile.val<[r], f32>
    %sum = tile.stream descending over_splits carry(%zero : !tile.val<[r], f32>) {
    ^bb0(%x: !tile.val<[r], f32>):
      %y = tile.load %S : !tile.buffer<[b, hq, ks, r], f32> -> !tile.val<[r], f32>
      %z = tile.map(%x, %y) : (!tile.val<[r], f32>, !tile.val<[r], f32>) -> !tile.val<[r], f32> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        tile.yield %c : f32
      }
      tile.yield %z : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %sum, %O : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
  // A condition may use every size of a call, and a schedule follows it.
  // CHECK: tile.stage @many forward over ["b", "hq"] when "min(r - 8, c)" schedule #step.loops<lanes = 8,
  tile.stage @many forward over ["b", "hq"] when "min(r - 8, c)" schedule #step.loops<lanes = 8> {
  }
  // CHECK: tile.launch @f forward items "b*hq" when "r - 8"(%{{.*}}) : !tile.buffer<[b, hq, r], f32>
  tile.launch @f forward items "b*hq" when "r - 8" (%O) : !tile.buffer<[b, hq, r], f32>
}
func.func private @f(memref<1xf32>, memref<8xi64>, index)
