// RUN: pe-opt %s --pe-tile-to-loops="block-rows=64 block-columns=64" --split-input-file --verify-diagnostics

tile.plan @wide attributes {head_dim = 256 : i64, value_dim = 256 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r, d], f32>
  // expected-error-re @below {{expected at most 262144 bytes of{{.*}}found 327680: choose smaller blocks than 64 x 64}}
  tile.stage @s forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %a, %b, %c, %d, %e = tile.map(%q) : (!tile.val<[r, d], f32>)
        -> (!tile.val<[r, d], f32>, !tile.val<[r, d], f32>, !tile.val<[r, d], f32>, !tile.val<[r, d], f32>,
        !tile.val<[r, d], f32>) {
    ^bb0(%x: f32):
      tile.yield %x, %x, %x, %x, %x : f32, f32, f32, f32, f32
    }
    tile.store %e, %O : !tile.val<[r, d], f32> -> !tile.buffer<[b, hq, r, d], f32>
  }
}

// -----

tile.plan @tangent attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %L = tile.buffer "l" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    %y = tile.map(%x) : (!tile.val<[r], f32>) -> (!tile.val<[r], f32>) {
    ^bb0(%n: f32):
      // expected-error @below {{'math.asinh' op expected an operation from the table of scalar operations}}
      %m = math.asinh %n : f32
      tile.yield %m : f32
    }
    tile.store %y, %L : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}
