// RUN: split-file %s %t
// RUN: pe-opt %t/value.mlir --pe-schedule-cpu --pe-tile-to-cpu 2>&1 | FileCheck %s --check-prefix=CPU-VALUE
// RUN: not pe-opt %t/value.mlir --pe-schedule-gpu --pe-tile-to-gpu 2>&1 | FileCheck %s --check-prefix=GPU-VALUE
// RUN: pe-opt %t/dot.mlir --pe-schedule-cpu --pe-tile-to-cpu 2>&1 | FileCheck %s --check-prefix=CPU-DOT
// RUN: not pe-opt %t/dot.mlir --pe-schedule-gpu --pe-tile-to-gpu 2>&1 | FileCheck %s --check-prefix=GPU-DOT
// RUN: pe-opt %t/init.mlir --pe-schedule-cpu --pe-tile-to-cpu 2>&1 | FileCheck %s --check-prefix=CPU-INIT
// RUN: not pe-opt %t/vectors.mlir --pe-schedule-gpu --pe-tile-to-gpu 2>&1 | FileCheck %s --check-prefix=GPU-VECTORS
// RUN: not pe-opt %t/vectors.mlir --pe-tile-to-loops 2>&1 | FileCheck %s --check-prefix=LOOPS

// Values over sets of spaces that attention does not use have no layout in vectors and fragments.

// CPU-VALUE: remark: stage @forward runs as plain loops: there is no layout for a value over [r, c, d]
// GPU-VALUE: error: no GPU kernel can compute this: there is no layout for a value over [r, c, d]
//--- value.mlir
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @forward forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %s = tile.stream any {
      %x = tile.map(%q) : (!tile.val<[r, d], f32>) -> !tile.val<[r, c, d], f32> {
      ^bb0(%a: f32):
        tile.yield %a : f32
      }
      %y = tile.reduce add over d %x : !tile.val<[r, c, d], f32> -> !tile.val<[r, c], f32>
      %z = tile.reduce add over c %y : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %z : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %O : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}
// CPU-DOT: remark: stage @forward runs as plain loops: there is no layout for a contraction of [c, d] and [r, d] over d
// GPU-DOT: no GPU kernel can compute this: there is no layout for a contraction of [c, d] and [r, d] over d
//--- dot.mlir
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @forward forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %s = tile.stream any {
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      %y = tile.dot %k, %q over d : !tile.val<[c, d], f32>, !tile.val<[r, d], f32> -> !tile.val<[r, c], f32>
      %z = tile.reduce add over c %y : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %z : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %O : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}
// CPU-INIT: remark: stage @forward runs as plain loops: there is no layout for a contraction with a result
// CPU-INIT-SAME: over [r, c] and an init over [c]
//--- init.mlir
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %B = tile.buffer "bias" argument : !tile.buffer<[b, hq, c], f32>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @forward forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %s = tile.stream any {
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      %b = tile.load %B : !tile.buffer<[b, hq, c], f32> -> !tile.val<[c], f32>
      %y = tile.dot %q, %k over d init(%b : !tile.val<[c], f32>) : !tile.val<[r, d], f32>, !tile.val<[c, d], f32>
          -> !tile.val<[r, c], f32>
      %z = tile.reduce add over c %y : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %z : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %O : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}
// GPU-VECTORS: no GPU kernel can compute this: there is no layout for a value over [r, t]
// LOOPS: error: 'tile.load' op expected a value over r, c and a depth, found one over [r, t]:
// LOOPS-SAME: the loops have no extent for t
//--- vectors.mlir
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, t], f32>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r, t], f32>
  tile.stage @forward forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, t], f32> -> !tile.val<[t, r], f32>
    tile.store %q, %O : !tile.val<[r, t], f32> -> !tile.buffer<[b, hq, r, t], f32>
  }
}
