// One case per constraint of biases (docs/spec-tile.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %T = tile.buffer "t" temporary : !tile.buffer<[hq, t], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      // expected-error @below {{expected a value over [r, c], found '!tile.val<[r], f32>' (window-C1)}}
      %x = tile.window %T : !tile.buffer<[hq, t], f32> -> !tile.val<[r], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %T = tile.buffer "t" temporary : !tile.buffer<[t, hq], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      // expected-error @below {{expected a table with extent t last, heads before it, found '!tile.buffer<[t, hq], f32>' (window-C2)}}
      %x = tile.window %T : !tile.buffer<[t, hq], f32> -> !tile.val<[r, c], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %T = tile.buffer "t" temporary : !tile.buffer<[b, hq, t], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[c], f32>
      // expected-error @below {{expected a value over [r, c], found '!tile.val<[c], f32>' (window_grad-C1)}}
      tile.window_grad %x, %T : !tile.val<[c], f32> -> !tile.buffer<[b, hq, t], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %T = tile.buffer "t" temporary : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      // expected-error @below {{expected a table with extent t last, heads before it, found '!tile.buffer<[b, hq, r], f32>' (window_grad-C2)}}
      tile.window_grad %x, %T : !tile.val<[r, c], f32> -> !tile.buffer<[b, hq, r], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %T = tile.buffer "t" temporary : !tile.buffer<[hq, t], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      // expected-error @below {{expected extents b and hq, so that work items never share an element, found '!tile.buffer<[hq, t], f32>' (window_grad-C3)}}
      tile.window_grad %x, %T : !tile.val<[r, c], f32> -> !tile.buffer<[hq, t], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %u = tile.buffer "u" temporary : !tile.buffer<[t], f32>
  %v = tile.buffer "v" temporary : !tile.buffer<[r], f32>
  %knots = tile.buffer "knots" temporary : !tile.buffer<[8], f32>
  %coefficients = tile.buffer "coefficients" temporary : !tile.buffer<[hq, 9, 2], f32>
  %count = tile.buffer "count" temporary : !tile.buffer<[1], i32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      // expected-error @below {{expected a value over [r, c], found '!tile.val<[r], f32>' (segments-C1)}}
      %x = tile.segments %u, %v, %knots, %coefficients, %count : !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], i32> -> !tile.val<[r], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %u = tile.buffer "u" temporary : !tile.buffer<[r], f32>
  %v = tile.buffer "v" temporary : !tile.buffer<[r], f32>
  %knots = tile.buffer "knots" temporary : !tile.buffer<[8], f32>
  %coefficients = tile.buffer "coefficients" temporary : !tile.buffer<[hq, 9, 2], f32>
  %count = tile.buffer "count" temporary : !tile.buffer<[1], i32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      // expected-error @below {{expected u with extent t last and v with extent r last, heads before them, found '!tile.buffer<[r], f32>' and '!tile.buffer<[r], f32>' (segments-C2)}}
      %x = tile.segments %u, %v, %knots, %coefficients, %count : !tile.buffer<[r], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], i32> -> !tile.val<[r, c], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %u = tile.buffer "u" temporary : !tile.buffer<[t], f32>
  %v = tile.buffer "v" temporary : !tile.buffer<[r], f32>
  %knots = tile.buffer "knots" temporary : !tile.buffer<[8], f32>
  %coefficients = tile.buffer "coefficients" temporary : !tile.buffer<[hq, 9, 3], f32>
  %count = tile.buffer "count" temporary : !tile.buffer<[1], i32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      // expected-error @below {{expected knots of one extent, coefficients with the pieces and 1, 2 or 4 powers last, and count of !tile.buffer<[1], i32>, found '!tile.buffer<[8], f32>', '!tile.buffer<[hq, 9, 3], f32>' and '!tile.buffer<[1], i32>' (segments-C3)}}
      %x = tile.segments %u, %v, %knots, %coefficients, %count : !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 3], f32>, !tile.buffer<[1], i32> -> !tile.val<[r, c], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %u = tile.buffer "u" temporary : !tile.buffer<[t], f32>
  %v = tile.buffer "v" temporary : !tile.buffer<[r], f32>
  %knots = tile.buffer "knots" temporary : !tile.buffer<[8], f32>
  %coefficients = tile.buffer "coefficients" temporary : !tile.buffer<[hq, 9, 2], f32>
  %count = tile.buffer "count" temporary : !tile.buffer<[1], i32>
  %moments = tile.buffer "moments" temporary : !tile.buffer<[b, hq, 9, 2], f32>
  %rows = tile.buffer "rows" temporary : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %g = tile.constant 1.0 : !tile.val<[r], f32>
      // expected-error @below {{expected a value over [r, c], found '!tile.val<[r], f32>' (segments_grad-C1)}}
      tile.segments_grad %g, %u, %v, %knots, %coefficients, %count into %moments rows %rows : !tile.val<[r], f32>, !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], i32>, !tile.buffer<[b, hq, 9, 2], f32>, !tile.buffer<[b, hq, r], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %u = tile.buffer "u" temporary : !tile.buffer<[t], f32>
  %v = tile.buffer "v" temporary : !tile.buffer<[c], f32>
  %knots = tile.buffer "knots" temporary : !tile.buffer<[8], f32>
  %coefficients = tile.buffer "coefficients" temporary : !tile.buffer<[hq, 9, 2], f32>
  %count = tile.buffer "count" temporary : !tile.buffer<[1], i32>
  %moments = tile.buffer "moments" temporary : !tile.buffer<[b, hq, 9, 2], f32>
  %rows = tile.buffer "rows" temporary : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %g = tile.constant 1.0 : !tile.val<[r, c], f32>
      // expected-error @below {{expected u with extent t last and v with extent r last, heads before them, found '!tile.buffer<[t], f32>' and '!tile.buffer<[c], f32>' (segments_grad-C2)}}
      tile.segments_grad %g, %u, %v, %knots, %coefficients, %count into %moments rows %rows : !tile.val<[r, c], f32>, !tile.buffer<[t], f32>, !tile.buffer<[c], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], i32>, !tile.buffer<[b, hq, 9, 2], f32>, !tile.buffer<[b, hq, r], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %u = tile.buffer "u" temporary : !tile.buffer<[t], f32>
  %v = tile.buffer "v" temporary : !tile.buffer<[r], f32>
  %knots = tile.buffer "knots" temporary : !tile.buffer<[8], f32>
  %coefficients = tile.buffer "coefficients" temporary : !tile.buffer<[hq, 9, 2], f32>
  %count = tile.buffer "count" temporary : !tile.buffer<[1], f32>
  %moments = tile.buffer "moments" temporary : !tile.buffer<[b, hq, 9, 2], f32>
  %rows = tile.buffer "rows" temporary : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %g = tile.constant 1.0 : !tile.val<[r, c], f32>
      // expected-error @below {{expected knots of one extent, coefficients with the pieces and 1, 2 or 4 powers last, and count of !tile.buffer<[1], i32>, found '!tile.buffer<[8], f32>', '!tile.buffer<[hq, 9, 2], f32>' and '!tile.buffer<[1], f32>' (segments_grad-C3)}}
      tile.segments_grad %g, %u, %v, %knots, %coefficients, %count into %moments rows %rows : !tile.val<[r, c], f32>, !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], f32>, !tile.buffer<[b, hq, 9, 2], f32>, !tile.buffer<[b, hq, r], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %u = tile.buffer "u" temporary : !tile.buffer<[t], f32>
  %v = tile.buffer "v" temporary : !tile.buffer<[r], f32>
  %knots = tile.buffer "knots" temporary : !tile.buffer<[8], f32>
  %coefficients = tile.buffer "coefficients" temporary : !tile.buffer<[hq, 9, 2], f32>
  %count = tile.buffer "count" temporary : !tile.buffer<[1], i32>
  %moments = tile.buffer "moments" temporary : !tile.buffer<[hq, 9, 2], f32>
  %rows = tile.buffer "rows" temporary : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %g = tile.constant 1.0 : !tile.val<[r, c], f32>
      // expected-error @below {{expected sums over b and hq: moments [b, hq, 9, 2], rows [b, hq, r], diagonals [b, hq, t], found '!tile.buffer<[hq, 9, 2], f32>' (segments_grad-C4)}}
      tile.segments_grad %g, %u, %v, %knots, %coefficients, %count into %moments rows %rows : !tile.val<[r, c], f32>, !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], i32>, !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[b, hq, r], f32>
      tile.yield
    }
  }
}

// -----

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
    tile.find_segments(%w1, %b1, %w2) ["relu", "identity"] range %u, %v into %knots, %coefficients, %count : !tile.buffer<[8], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 8], f32>, !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], i32>
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
    tile.find_segments(%w1, %b1, %w2, %b2) ["relu", "identity"] range %u, %v into %knots, %coefficients, %count : !tile.buffer<[8], f32>, !tile.buffer<[8], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq], f32>, !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], i32>
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
    // expected-error @below {{expected u with extent t last and v with extent r last, heads before them, found '!tile.buffer<[t, 2], f32>' and '!tile.buffer<[r], f32>' (find_segments-C2)}}
    tile.find_segments(%w1, %b1, %w2, %b2) ["relu", "identity"] range %u, %v into %knots, %coefficients, %count : !tile.buffer<[8], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 8], f32>, !tile.buffer<[hq], f32>, !tile.buffer<[t, 2], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], i32>
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
    // expected-error @below {{expected knots of one extent, coefficients with the pieces and 1, 2 or 4 powers last, and count of !tile.buffer<[1], i32>, found '!tile.buffer<[hq, 8], f32>', '!tile.buffer<[hq, 9, 2], f32>' and '!tile.buffer<[1], i32>' (find_segments-C3)}}
    tile.find_segments(%w1, %b1, %w2, %b2) ["relu", "identity"] range %u, %v into %knots, %coefficients, %count : !tile.buffer<[8], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 8], f32>, !tile.buffer<[hq], f32>, !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[hq, 8], f32>, !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], i32>
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
    // expected-error @below {{expected a stage over [], since the tables serve all heads, found over ["hq"] (find_segments-C4)}}
    tile.find_segments(%w1, %b1, %w2, %b2) ["relu", "identity"] range %u, %v into %knots, %coefficients, %count : !tile.buffer<[8], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 8], f32>, !tile.buffer<[hq], f32>, !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], i32>
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
    // expected-error @below {{expected one of identity, relu, gelu, tanh, silu, cos and step per link, found ["relu", "sigmoid"] for 2 links (find_segments-C5)}}
    tile.find_segments(%w1, %b1, %w2, %b2) ["relu", "sigmoid"] range %u, %v into %knots, %coefficients, %count : !tile.buffer<[8], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 8], f32>, !tile.buffer<[hq], f32>, !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], i32>
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
    tile.find_segments(%w1, %b1, %w2, %b2) ["relu", "identity"] range %u, %v into %knots, %coefficients, %count {tolerance = 0.0 : f64} : !tile.buffer<[8], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 8], f32>, !tile.buffer<[hq], f32>, !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], i32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %T = tile.buffer "t" temporary : !tile.buffer<[b, hq, 33, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      // expected-error @below {{(near-C1)}}
      %x = tile.near %T first 0 : !tile.buffer<[b, hq, 33, r], f32> -> !tile.val<[r], f32>
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %T = tile.buffer "t" temporary : !tile.buffer<[b, hq, r, 33], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      // expected-error @below {{expected an f32 table of extents b, hq, a number of distances and r, found '!tile.buffer<[b, hq, r, 33], f32>' (near-C2)}}
      %x = tile.near %T first 0 : !tile.buffer<[b, hq, r, 33], f32> -> !tile.val<[r, c], f32>
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %T = tile.buffer "t" temporary : !tile.buffer<[b, hq, 33, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r], f32>
      // expected-error @below {{(near_grad-C1)}}
      tile.near_grad %x, %T first 0 : !tile.val<[r], f32> -> !tile.buffer<[b, hq, 33, r], f32>
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %T = tile.buffer "t" temporary : !tile.buffer<[b, hq, r, 33], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      // expected-error @below {{(near_grad-C2)}}
      tile.near_grad %x, %T first 0 : !tile.val<[r, c], f32> -> !tile.buffer<[b, hq, r, 33], f32>
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %T = tile.buffer "t" temporary : !tile.buffer<[d, t], f32>
  tile.stage @s forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    tile.stream any {
      // expected-error @below {{expected a value over [r, c], found '!tile.val<[r], f32>' (window_dot-C1)}}
      %x = tile.window_dot %q, %T : !tile.val<[r, d], f32>, !tile.buffer<[d, t], f32> -> !tile.val<[r], f32>
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %T = tile.buffer "t" temporary : !tile.buffer<[d, t], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      // expected-error @below {{expected rows over [r, d] or [r, e], found '!tile.val<[c, d], f32>' (window_dot-C2)}}
      %x = tile.window_dot %k, %T : !tile.val<[c, d], f32>, !tile.buffer<[d, t], f32> -> !tile.val<[r, c], f32>
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %T = tile.buffer "t" temporary : !tile.buffer<[t, d], f32>
  tile.stage @s forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    tile.stream any {
      // expected-error @below {{expected an f32 table with extents d and t last, heads before them, found '!tile.buffer<[t, d], f32>' (window_dot-C3)}}
      %x = tile.window_dot %q, %T : !tile.val<[r, d], f32>, !tile.buffer<[t, d], f32> -> !tile.val<[r, c], f32>
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %T = tile.buffer "t" temporary : !tile.buffer<[d, t], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[c], f32>
      // expected-error @below {{(window_sum-C1)}}
      %y = tile.window_sum %x, %T : !tile.val<[c], f32>, !tile.buffer<[d, t], f32> -> !tile.val<[r, d], f32>
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %T = tile.buffer "t" temporary : !tile.buffer<[d, t], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      // expected-error @below {{(window_sum-C2)}}
      %y = tile.window_sum %x, %T : !tile.val<[r, c], f32>, !tile.buffer<[d, t], f32> -> !tile.val<[r], f32>
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %T = tile.buffer "t" temporary : !tile.buffer<[d, t], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      // expected-error @below {{expected an f32 table with extents e and t last, heads before them, found '!tile.buffer<[d, t], f32>' (window_sum-C3)}}
      %y = tile.window_sum %x, %T : !tile.val<[r, c], f32>, !tile.buffer<[d, t], f32> -> !tile.val<[r, e], f32>
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %T = tile.buffer "t" temporary : !tile.buffer<[b, hq, t, d], f32>
  tile.stage @s forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r], f32>
      // expected-error @below {{(window_outer-C1)}}
      tile.window_outer %x, %q, %T : !tile.val<[r], f32>, !tile.val<[r, d], f32> -> !tile.buffer<[b, hq, t, d], f32>
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %T = tile.buffer "t" temporary : !tile.buffer<[b, hq, t, d], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      // expected-error @below {{(window_outer-C2)}}
      tile.window_outer %x, %x, %T : !tile.val<[r, c], f32>, !tile.val<[r, c], f32> -> !tile.buffer<[b, hq, t, d], f32>
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %T = tile.buffer "t" temporary : !tile.buffer<[b, hq, d, t], f32>
  tile.stage @s forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      // expected-error @below {{expected an f32 table with extents t and d last, heads before them, found '!tile.buffer<[b, hq, d, t], f32>' (window_outer-C3)}}
      tile.window_outer %x, %q, %T : !tile.val<[r, c], f32>, !tile.val<[r, d], f32> -> !tile.buffer<[b, hq, d, t], f32>
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %T = tile.buffer "t" temporary : !tile.buffer<[hq, t, d], f32>
  tile.stage @s forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      // expected-error @below {{expected extents b and hq, so that work items never share an element, found '!tile.buffer<[hq, t, d], f32>' (window_outer-C4)}}
      tile.window_outer %x, %q, %T : !tile.val<[r, c], f32>, !tile.val<[r, d], f32> -> !tile.buffer<[hq, t, d], f32>
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], bf16>
  %T = tile.buffer "t" temporary : !tile.buffer<[b, hq, t, d], f32>
  tile.stage @s forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], bf16> -> !tile.val<[r, d], bf16>
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      // expected-error @below {{expected pairs and rows of the same element type, found '!tile.val<[r, c], f32>' and '!tile.val<[r, d], bf16>' (window_outer-C5)}}
      tile.window_outer %x, %q, %T : !tile.val<[r, c], f32>, !tile.val<[r, d], bf16> -> !tile.buffer<[b, hq, t, d], f32>
    }
  }
}
