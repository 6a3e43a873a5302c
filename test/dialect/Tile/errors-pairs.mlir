// Loads and stores of pairs in memory (docs/spec-tile.md, load-C1 and store-C1).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

// Pairs are stored to temporaries, by blocks of one size on each side, and inside a stream.
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %P = tile.buffer "p" residual : !tile.buffer<[b, hq, "ceildiv(c,8)*8", "ceildiv(r,8)*8"], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %w = tile.constant 1.0 : !tile.val<[r, c], f32>
      // expected-error-re @below {{found a value over [r, c] and {{.*}} (store-C1)}}
      tile.store %w, %P : !tile.val<[r, c], f32> -> !tile.buffer<[b, hq, "ceildiv(c,8)*8", "ceildiv(r,8)*8"], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %P = tile.buffer "p" temporary : !tile.buffer<[b, hq, "ceildiv(c,8)*4", "ceildiv(r,8)*8"], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %w = tile.constant 1.0 : !tile.val<[r, c], f32>
      // expected-error-re @below {{found a value over [r, c] and {{.*}} (store-C1)}}
      tile.store %w, %P : !tile.val<[r, c], f32> -> !tile.buffer<[b, hq, "ceildiv(c,8)*4", "ceildiv(r,8)*8"], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %P = tile.buffer "p" temporary : !tile.buffer<[b, hq, "ceildiv(c,8)*8", "ceildiv(r,8)*8"], f32>
  tile.stage @s forward over ["b", "hq"] {
    // expected-error-re @below {{found a value over [r, c] and {{.*}} (load-C1)}}
    %w = tile.load %P : !tile.buffer<[b, hq, "ceildiv(c,8)*8", "ceildiv(r,8)*8"], f32> -> !tile.val<[r, c], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %P = tile.buffer "p" temporary : !tile.buffer<[b, hq, "ceildiv(c,8)*8", "ceildiv(r,8)*8"], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %w = tile.constant 1.0 : !tile.val<[r, c], f32>
      tile.store %w, %P : !tile.val<[r, c], f32> -> !tile.buffer<[b, hq, "ceildiv(c,8)*8", "ceildiv(r,8)*8"], f32>
      // expected-error @below {{expected a buffer that the stage does not store (stage-C8)}}
      %x = tile.load %P : !tile.buffer<[b, hq, "ceildiv(c,8)*8", "ceildiv(r,8)*8"], f32> -> !tile.val<[r, c], f32>
      tile.yield
    }
  }
}
