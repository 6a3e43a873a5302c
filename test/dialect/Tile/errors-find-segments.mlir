// One case per constraint of tile.find_segments (docs/spec-tile.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %w1 = tile.buffer "w1" argument : !tile.buffer<[8], f32>
  %b1 = tile.buffer "b1" argument : !tile.buffer<[8], f32>
  %w2 = tile.buffer "w2" argument : !tile.buffer<[hq, 8], f32>
  %u = tile.buffer "u" temporary : !tile.buffer<[t], f32>
  %v = tile.buffer "v" temporary : !tile.buffer<[r], f32>
  %knots = tile.buffer "knots" temporary : !tile.buffer<[8], f32>
  %coefficients = tile.buffer "coefficients" temporary : !tile.buffer<[hq, 9, 2], f32>
  %count = tile.buffer "count" temporary : !tile.buffer<[1], i32>
  tile.stage @s prepare over [] {
    // expected-error @below {{expected links of f32: alternating weight [n] or [n, m] and bias [n] (find_segments-C1)}}
    tile.find_segments(%w1, %b1, %w2) ["relu", "identity"] range %u, %v into %knots, %coefficients, %count
        : !tile.buffer<[8], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 8], f32>, !tile.buffer<[t], f32>,
          !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], i32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %w1 = tile.buffer "w1" argument : !tile.buffer<[8], f32>
  %b1 = tile.buffer "b1" argument : !tile.buffer<[8], f32>
  %w2 = tile.buffer "w2" argument : !tile.buffer<[8], f32>
  %b2 = tile.buffer "b2" argument : !tile.buffer<[hq], f32>
  %u = tile.buffer "u" temporary : !tile.buffer<[t], f32>
  %v = tile.buffer "v" temporary : !tile.buffer<[r], f32>
  %knots = tile.buffer "knots" temporary : !tile.buffer<[8], f32>
  %coefficients = tile.buffer "coefficients" temporary : !tile.buffer<[hq, 9, 2], f32>
  %count = tile.buffer "count" temporary : !tile.buffer<[1], i32>
  tile.stage @s prepare over [] {
    // expected-error @below {{expected links of f32: alternating weight [n] or [n, m] and bias [n] (find_segments-C1)}}
    tile.find_segments(%w1, %b1, %w2, %b2) ["relu", "identity"] range %u, %v into %knots, %coefficients, %count
        : !tile.buffer<[8], f32>, !tile.buffer<[8], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq], f32>,
          !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>,
          !tile.buffer<[1], i32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %w1 = tile.buffer "w1" argument : !tile.buffer<[8], f32>
  %b1 = tile.buffer "b1" argument : !tile.buffer<[8], f32>
  %w2 = tile.buffer "w2" argument : !tile.buffer<[hq, 8], f32>
  %b2 = tile.buffer "b2" argument : !tile.buffer<[hq], f32>
  %u = tile.buffer "u" temporary : !tile.buffer<[t, 2], f32>
  %v = tile.buffer "v" temporary : !tile.buffer<[r], f32>
  %knots = tile.buffer "knots" temporary : !tile.buffer<[8], f32>
  %coefficients = tile.buffer "coefficients" temporary : !tile.buffer<[hq, 9, 2], f32>
  %count = tile.buffer "count" temporary : !tile.buffer<[1], i32>
  tile.stage @s prepare over [] {
    // expected-error @below {{found '!tile.buffer<[t, 2], f32>' and '!tile.buffer<[r], f32>' (find_segments-C2)}}
    tile.find_segments(%w1, %b1, %w2, %b2) ["relu", "identity"] range %u, %v into %knots, %coefficients, %count
        : !tile.buffer<[8], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 8], f32>, !tile.buffer<[hq], f32>,
          !tile.buffer<[t, 2], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>,
          !tile.buffer<[1], i32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %w1 = tile.buffer "w1" argument : !tile.buffer<[8], f32>
  %b1 = tile.buffer "b1" argument : !tile.buffer<[8], f32>
  %w2 = tile.buffer "w2" argument : !tile.buffer<[hq, 8], f32>
  %b2 = tile.buffer "b2" argument : !tile.buffer<[hq], f32>
  %u = tile.buffer "u" temporary : !tile.buffer<[t], f32>
  %v = tile.buffer "v" temporary : !tile.buffer<[r], f32>
  %knots = tile.buffer "knots" temporary : !tile.buffer<[hq, 8], f32>
  %coefficients = tile.buffer "coefficients" temporary : !tile.buffer<[hq, 9, 2], f32>
  %count = tile.buffer "count" temporary : !tile.buffer<[1], i32>
  tile.stage @s prepare over [] {
    // expected-error-re @below {{knots of one extent,{{.*}}'!tile.buffer<[hq, 8], f32>',{{.*}}(find_segments-C3)}}
    tile.find_segments(%w1, %b1, %w2, %b2) ["relu", "identity"] range %u, %v into %knots, %coefficients, %count
        : !tile.buffer<[8], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 8], f32>, !tile.buffer<[hq], f32>,
          !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[hq, 8], f32>, !tile.buffer<[hq, 9, 2], f32>,
          !tile.buffer<[1], i32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %w1 = tile.buffer "w1" argument : !tile.buffer<[8], f32>
  %b1 = tile.buffer "b1" argument : !tile.buffer<[8], f32>
  %w2 = tile.buffer "w2" argument : !tile.buffer<[hq, 8], f32>
  %b2 = tile.buffer "b2" argument : !tile.buffer<[hq], f32>
  %u = tile.buffer "u" temporary : !tile.buffer<[t], f32>
  %v = tile.buffer "v" temporary : !tile.buffer<[r], f32>
  %knots = tile.buffer "knots" temporary : !tile.buffer<[8], f32>
  %coefficients = tile.buffer "coefficients" temporary : !tile.buffer<[hq, 9, 2], f32>
  %count = tile.buffer "count" temporary : !tile.buffer<[1], i32>
  tile.stage @s prepare over ["hq"] {
    // expected-error @below {{a stage over [], since the tables serve all heads, found over ["hq"] (find_segments-C4)}}
    tile.find_segments(%w1, %b1, %w2, %b2) ["relu", "identity"] range %u, %v into %knots, %coefficients, %count
        : !tile.buffer<[8], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 8], f32>, !tile.buffer<[hq], f32>,
          !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>,
          !tile.buffer<[1], i32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %w1 = tile.buffer "w1" argument : !tile.buffer<[8], f32>
  %b1 = tile.buffer "b1" argument : !tile.buffer<[8], f32>
  %w2 = tile.buffer "w2" argument : !tile.buffer<[hq, 8], f32>
  %b2 = tile.buffer "b2" argument : !tile.buffer<[hq], f32>
  %u = tile.buffer "u" temporary : !tile.buffer<[t], f32>
  %v = tile.buffer "v" temporary : !tile.buffer<[r], f32>
  %knots = tile.buffer "knots" temporary : !tile.buffer<[8], f32>
  %coefficients = tile.buffer "coefficients" temporary : !tile.buffer<[hq, 9, 2], f32>
  %count = tile.buffer "count" temporary : !tile.buffer<[1], i32>
  tile.stage @s prepare over [] {
    // CHECK: expected one of identity, relu, gelu, tanh, silu, cos and step per link,
    // CHECK-SAME: {{^}} found ["relu", "sigmoid"] for 2 links (find_segments-C5)
    // expected-error @below {{per link, found ["relu", "sigmoid"] for 2 links (find_segments-C5)}}
    tile.find_segments(%w1, %b1, %w2, %b2) ["relu", "sigmoid"] range %u, %v into %knots, %coefficients, %count
        : !tile.buffer<[8], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 8], f32>, !tile.buffer<[hq], f32>,
          !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>,
          !tile.buffer<[1], i32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %w1 = tile.buffer "w1" argument : !tile.buffer<[8], f32>
  %b1 = tile.buffer "b1" argument : !tile.buffer<[8], f32>
  %w2 = tile.buffer "w2" argument : !tile.buffer<[hq, 8], f32>
  %b2 = tile.buffer "b2" argument : !tile.buffer<[hq], f32>
  %u = tile.buffer "u" temporary : !tile.buffer<[t], f32>
  %v = tile.buffer "v" temporary : !tile.buffer<[r], f32>
  %knots = tile.buffer "knots" temporary : !tile.buffer<[8], f32>
  %coefficients = tile.buffer "coefficients" temporary : !tile.buffer<[hq, 9, 2], f32>
  %count = tile.buffer "count" temporary : !tile.buffer<[1], i32>
  tile.stage @s prepare over [] {
    // expected-error @below {{expected a tolerance above 0, found 0.000000e+00 (find_segments-C6)}}
    tile.find_segments(%w1, %b1, %w2, %b2) ["relu", "identity"] range %u, %v into %knots, %coefficients, %count
        {tolerance = 0.0 : f64}
        : !tile.buffer<[8], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 8], f32>, !tile.buffer<[hq], f32>,
          !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>,
          !tile.buffer<[1], i32>
  }
}
