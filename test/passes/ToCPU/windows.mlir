// RUN: pe-opt %examples/music_transformer.mlir --pe-to-cpu=grad=1 -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --allow-empty --check-prefix=FUSED
// RUN: pe-opt %s --split-input-file --pe-schedule-cpu --pe-tile-to-cpu --verify-diagnostics -o /dev/null

// Contractions with vectors of the distance have vector forms, forward and backward.
// FUSED-NOT: remark

// The rows of a window_outer must be loaded from memory.
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %G = tile.buffer "g" gradient : !tile.buffer<[b, hq, t, d], f32>
  // expected-remark @below {{stage @s runs as plain loops: the rows of tile.window_outer must be loaded}}
  tile.stage @s backward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %twice = tile.map(%q) : (!tile.val<[r, d], f32>) -> !tile.val<[r, d], f32> {
    ^bb0(%x: f32):
      %y = arith.addf %x, %x : f32
      tile.yield %y : f32
    }
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      tile.window_outer %x, %twice, %G : !tile.val<[r, c], f32>, !tile.val<[r, d], f32>
          -> !tile.buffer<[b, hq, t, d], f32>
    }
  }
}
