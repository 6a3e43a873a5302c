// RUN: pe-opt %s --pe-spill-pairs=depth=8 --split-input-file | FileCheck %s
// RUN: pe-opt %s --pe-spill-pairs --split-input-file | FileCheck %s --check-prefix=NONE
// RUN: pe-opt %s --pe-spill-pairs="depth=8 bits=32" --split-input-file | FileCheck %s --check-prefix=NONE
// RUN: pe-opt %s --pe-spill-pairs="depth=8 memory=0" --split-input-file | FileCheck %s --check-prefix=NONE
// RUN: pe-opt %S/../Schedule/Inputs/softmax_backward.mlir --pe-spill-pairs="depth=64 bits=32" \
// RUN:   | FileCheck %s --check-prefix=SOFTMAX

// A depth below the least, pairs of another width, and programs without memory for pairs are left alone.
// NONE-NOT: when

// One stage stores the pairs and keeps the fold over rows, another one loads them for the fold over columns, and
// does what depends on it. The stage itself runs if there are too many pairs.
// CHECK-LABEL: tile.plan @both
// CHECK: %[[P:.*]] = tile.buffer "both_backward_pairs0" temporary
// CHECK-SAME: <[b, hq, "ceildiv(c,64)*64", "ceildiv(r,128)*128"], bf16>
// CHECK: tile.stage @backward_pairs backward over ["b", "hkv"] when "65537-b*hq*ceildiv(c,64)*ceildiv(r,128)" {
// CHECK: %[[DK:.*]] = tile.stream any {
// CHECK: %[[W:.*]] = tile.constant {{.*}} : <[r, c], bf16>
// CHECK: tile.dot %[[W]], %{{.*}} over r
// CHECK-NOT: over c
// CHECK: tile.store %[[W]], %[[P]]
// CHECK: } : !tile.val<[c, d], f32>
// CHECK: tile.store %[[DK]],
// CHECK-NOT: tile.store
// CHECK: tile.stage @backward_products backward over ["b", "hq"] when "65537-b*hq*ceildiv(c,64)*ceildiv(r,128)" {
// CHECK-NOT: tile.load {{.*}} -> <[r, d], bf16>
// CHECK: %[[DQ:.*]] = tile.stream any {
// CHECK-DAG: %[[K:.*]] = tile.load {{.*}} -> <[c, d], bf16>
// CHECK-DAG: %[[L:.*]] = tile.load %[[P]]
// CHECK: tile.dot %[[L]], %[[K]] over c
// CHECK-NOT: tile.store
// CHECK: } : !tile.val<[r, d], f32>
// CHECK: %[[TWICE:.*]] = tile.map(%[[DQ]])
// CHECK: tile.store %[[TWICE]],
// CHECK: tile.stage @backward backward over ["b", "hkv"] when "b*hq*ceildiv(c,64)*ceildiv(r,128)-65536" {
tile.plan @both attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], bf16>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], bf16>
  %DQ = tile.buffer "d_q" gradient : !tile.buffer<[b, hq, r, d], f32>
  %DK = tile.buffer "d_k" gradient : !tile.buffer<[b, hkv, c, d], f32>
  tile.stage @backward backward over ["b", "hkv"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], bf16> -> !tile.val<[r, d], bf16>
    %dq, %dk = tile.stream any {
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], bf16> -> !tile.val<[c, d], bf16>
      %w = tile.constant 1.0 : !tile.val<[r, c], bf16>
      %a = tile.dot %w, %k over c : !tile.val<[r, c], bf16>, !tile.val<[c, d], bf16> -> !tile.val<[r, d], f32>
      %b = tile.dot %w, %q over r : !tile.val<[r, c], bf16>, !tile.val<[r, d], bf16> -> !tile.val<[c, d], f32>
      tile.yield %a, %b : !tile.val<[r, d], f32>, !tile.val<[c, d], f32>
    } : !tile.val<[r, d], f32>, !tile.val<[c, d], f32>
    %twice = tile.map(%dq) : (!tile.val<[r, d], f32>) -> !tile.val<[r, d], f32> {
    ^bb0(%x: f32):
      %y = arith.addf %x, %x : f32
      tile.yield %y : f32
    }
    tile.store %twice, %DQ : !tile.val<[r, d], f32> -> !tile.buffer<[b, hq, r, d], f32>
    tile.store %dk, %DK : !tile.val<[c, d], f32> -> !tile.buffer<[b, hkv, c, d], f32>
  }
}

// -----

// CTAs would take turns at the sum per row nevertheless, so nothing changes.
// CHECK-LABEL: tile.plan @rows
// CHECK-NOT: when
tile.plan @rows attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], bf16>
  %DQ = tile.buffer "d_q" gradient : !tile.buffer<[b, hq, r, d], f32>
  %DK = tile.buffer "d_k" gradient : !tile.buffer<[b, hkv, c], f32>
  %S = tile.buffer "sums" gradient : !tile.buffer<[b, hq, r], f32>
  tile.stage @backward backward over ["b", "hkv"] {
    %dq, %rows, %dk = tile.stream any {
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], bf16> -> !tile.val<[c, d], bf16>
      %w = tile.constant 1.0 : !tile.val<[r, c], bf16>
      %v = tile.constant 1.0 : !tile.val<[r, c], f32>
      %a = tile.dot %w, %k over c : !tile.val<[r, c], bf16>, !tile.val<[c, d], bf16> -> !tile.val<[r, d], f32>
      %b = tile.reduce add over c %v : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      %c = tile.reduce add over r %v : !tile.val<[r, c], f32> -> !tile.val<[c], f32>
      tile.yield %a, %b, %c : !tile.val<[r, d], f32>, !tile.val<[r], f32>, !tile.val<[c], f32>
    } : !tile.val<[r, d], f32>, !tile.val<[r], f32>, !tile.val<[c], f32>
    tile.store %dq, %DQ : !tile.val<[r, d], f32> -> !tile.buffer<[b, hq, r, d], f32>
    tile.store %rows, %S : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
    tile.store %dk, %DK : !tile.val<[c], f32> -> !tile.buffer<[b, hkv, c], f32>
  }
}

// -----

// Rows own a stage with a carry. Its fold over columns stays in registers, and the other stage is over key heads.
// CHECK-LABEL: tile.plan @carry
// CHECK: %[[P:.*]] = tile.buffer "carry_backward_pairs0" temporary
// CHECK-SAME: <[b, hq, "ceildiv(r,64)*64", "ceildiv(c,128)*128"], bf16>
// CHECK: tile.stage @backward_pairs backward over ["b", "hkv"] when "65537-b*hq*ceildiv(r,64)*ceildiv(c,128)" {
// CHECK: tile.stream ascending carry(
// CHECK-NOT: over r
// CHECK: tile.store %{{.*}}, %[[P]]
// CHECK: tile.stage @backward_products backward over ["b", "hkv"]
// CHECK: tile.stream any {
// CHECK-NOT: over c
// CHECK: tile.dot %{{.*}}, %{{.*}} over r
// CHECK: tile.stage @backward backward
tile.plan @carry attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], bf16>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], bf16>
  %DQ = tile.buffer "d_q" gradient : !tile.buffer<[b, hq, r, d], f32>
  %DK = tile.buffer "d_k" gradient : !tile.buffer<[b, hkv, c, d], f32>
  tile.stage @backward backward over ["b", "hkv"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], bf16> -> !tile.val<[r, d], bf16>
    %zero = tile.constant 0.0 : !tile.val<[r], f32>
    %last, %dq, %dk = tile.stream ascending carry(%zero : !tile.val<[r], f32>) {
    ^bb0(%m: !tile.val<[r], f32>):
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], bf16> -> !tile.val<[c, d], bf16>
      %w = tile.constant 1.0 : !tile.val<[r, c], bf16>
      %a = tile.dot %w, %k over c : !tile.val<[r, c], bf16>, !tile.val<[c, d], bf16> -> !tile.val<[r, d], f32>
      %b = tile.dot %w, %q over r : !tile.val<[r, c], bf16>, !tile.val<[r, d], bf16> -> !tile.val<[c, d], f32>
      tile.yield %m, %a, %b : !tile.val<[r], f32>, !tile.val<[r, d], f32>, !tile.val<[c, d], f32>
    } : !tile.val<[r], f32>, !tile.val<[r, d], f32>, !tile.val<[c, d], f32>
    tile.store %dq, %DQ : !tile.val<[r, d], f32> -> !tile.buffer<[b, hq, r, d], f32>
    tile.store %dk, %DK : !tile.val<[c, d], f32> -> !tile.buffer<[b, hkv, c, d], f32>
  }
}

// The sum along diagonals stays with the stage that stores the pairs.
// SOFTMAX: tile.stage @backward_pairs
// SOFTMAX: tile.window_grad
// SOFTMAX: tile.stage @backward_products
// SOFTMAX-NOT: tile.window_grad
// SOFTMAX: tile.stage @backward backward
// SOFTMAX: tile.window_grad
