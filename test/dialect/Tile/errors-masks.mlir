// One case per constraint of masks, random draws and sets of pairs (docs/spec-tile.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r], f32>
      // expected-error @below {{expected a value over [r, c], found '!tile.val<[r], f32>' (mask-C1)}}
      %y = tile.mask %x fill 0.0 : !tile.val<[r], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      %p = tile.constant 1.0 : !tile.val<[c], f32>
      // expected-error @below {{expected a condition of f32 over [r, c], found '!tile.val<[c], f32>' (mask-C2)}}
      %y = tile.mask %x where %p : !tile.val<[c], f32> fill 0.0 : !tile.val<[r, c], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      %p = tile.constant 1.0 : !tile.val<[r, c], f32>
      %y = tile.mask %x where %p : !tile.val<[r, c], f32> fill 0.0 : !tile.val<[r, c], f32>
      // expected-error @below {{expected one condition for all masks of a stream, found another (mask-C3)}}
      %z = tile.mask %x where %x : !tile.val<[r, c], f32> fill 0.0 : !tile.val<[r, c], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %a = tile.constant 1.0 : !tile.val<[r, c], f32>
    // expected-error @below {{expects parent op 'tile.stream'}}
    %y = tile.mask %a fill 0.0 : !tile.val<[r, c], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %seed = tile.buffer "seed" argument : !tile.buffer<[], i64>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      // expected-error @below {{expected a value of f32 over [r, c], found '!tile.val<[r], f32>' (random-C1)}}
      %x = tile.random %seed least 7 factor 2.0 : !tile.buffer<[], i64> -> !tile.val<[r], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %seed = tile.buffer "seed" argument : !tile.buffer<[hq], i64>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      // expected-error @below {{a seed of i64, or one per batch entry, found '!tile.buffer<[hq], i64>' (random-C2)}}
      %x = tile.random %seed least 7 factor 2.0 : !tile.buffer<[hq], i64> -> !tile.val<[r, c], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %seed = tile.buffer "seed" argument : !tile.buffer<[b], i64>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      // expected-error @below {{expected a least word in [1, 2^32], found 0 (random-C3)}}
      %x = tile.random %seed least 0 factor 2.0 : !tile.buffer<[b], i64> -> !tile.val<[r, c], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected left and right, each once, found before}}
  %m = tile.pairs band(before = 3)
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected left and right, each once, found left}}
  %m = tile.pairs band(left = 3, left = 4)
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %L = tile.buffer "low" temporary : !tile.buffer<[b, r], i32>
  // expected-error @below {{expected both bounds of the columns of a row, found one (pairs-C1)}}
  %m = "tile.pairs"(%L) <{operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> : (!tile.buffer<[b, r], i32>) -> !tile.pairs
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %L = tile.buffer "low" temporary : !tile.buffer<[b, r], i32>
  %H = tile.buffer "high" temporary : !tile.buffer<[b, c], i32>
  // expected-error-re @below {{bounds of i32 with extent r last,{{.*}}, found '!tile.buffer<[b, c], i32>' (pairs-C2)}}
  %m = tile.pairs columns(%L, %H : !tile.buffer<[b, r], i32>, !tile.buffer<[b, c], i32>)
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %R = tile.buffer "reach" temporary : !tile.buffer<[b, 2], i32>
  // CHECK: expected a reach of i32 with extents b, 2, together with bounds of the columns,
  // CHECK-SAME: {{^}} found '!tile.buffer<[b, 2], i32>' (pairs-C3)
  // expected-error-re @below {{a reach of i32 with extents b, 2,{{.*}}, found '!tile.buffer<[b, 2], i32>' (pairs-C3)}}
  %m = tile.pairs within(%R : !tile.buffer<[b, 2], i32>)
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %S = tile.buffer "states" temporary : !tile.buffer<[b, "ceildiv(c,64)", "ceildiv(c,32)"], i32>
  // CHECK: expected states of i32 with extents ceildiv(r,ROWS), ceildiv(c,COLUMNS) last, heads before them,
  // CHECK-SAME: {{^}} found '!tile.buffer<[b, "ceildiv(c,64)", "ceildiv(c,32)"], i32>' (pairs-C4)
  // expected-error-re @below {{states of i32 with extents ceildiv(r,ROWS), ceildiv(c,COLUMNS) last,{{.*}}(pairs-C4)}}
  %m = tile.pairs states(%S : !tile.buffer<[b, "ceildiv(c,64)", "ceildiv(c,32)"], i32>)
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %T = tile.buffer "taken" temporary : !tile.buffer<[b, r], i32>
  // expected-error @below {{taken columns of i32 with extents b, c, found '!tile.buffer<[b, r], i32>' (pairs-C5)}}
  %m = tile.pairs taken(%T : !tile.buffer<[b, r], i32>)
}
