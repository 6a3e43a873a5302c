// One case per constraint of piecewise biases and their gradients (docs/spec-tile.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %u = tile.buffer "u" temporary : !tile.buffer<[t], f32>
  %v = tile.buffer "v" temporary : !tile.buffer<[r], f32>
  %knots = tile.buffer "knots" temporary : !tile.buffer<[8], f32>
  %coefficients = tile.buffer "coefficients" temporary : !tile.buffer<[hq, 9, 2], f32>
  %count = tile.buffer "count" temporary : !tile.buffer<[1], i32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      // expected-error @below {{expected a value over [r, c], found '!tile.val<[r], f32>' (segments-C1)}}
      %x = tile.segments %u, %v, %knots, %coefficients, %count
          : !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>,
            !tile.buffer<[1], i32> -> !tile.val<[r], f32>
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
      // CHECK: expected u with extent t last and v with extent r last, heads before them,
      // CHECK-SAME: {{^}} found '!tile.buffer<[r], f32>' and '!tile.buffer<[r], f32>' (segments-C2)
      // expected-error-re @below {{expected u with extent t last and v{{.*}}'!tile.buffer<[r], f32>' (segments-C2)}}
      %x = tile.segments %u, %v, %knots, %coefficients, %count
          : !tile.buffer<[r], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 2], f32>,
            !tile.buffer<[1], i32> -> !tile.val<[r, c], f32>
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
      // CHECK: expected knots of one extent, coefficients with the pieces and 1, 2 or 4 powers last,
      // CHECK-SAME: {{^}} and count of !tile.buffer<[1], i32>, found '!tile.buffer<[8], f32>',
      // CHECK-SAME: {{^}} '!tile.buffer<[hq, 9, 3], f32>' and '!tile.buffer<[1], i32>' (segments-C3)
      // expected-error-re @below {{knots of one extent,{{.*}}'!tile.buffer<[hq, 9, 3], f32>'{{.*}}(segments-C3)}}
      %x = tile.segments %u, %v, %knots, %coefficients, %count
          : !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>, !tile.buffer<[hq, 9, 3], f32>,
            !tile.buffer<[1], i32> -> !tile.val<[r, c], f32>
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
      tile.segments_grad %g, %u, %v, %knots, %coefficients, %count into %moments rows %rows
          : !tile.val<[r], f32>, !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>,
            !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], i32>, !tile.buffer<[b, hq, 9, 2], f32>,
            !tile.buffer<[b, hq, r], f32>
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
      // expected-error @below {{found '!tile.buffer<[t], f32>' and '!tile.buffer<[c], f32>' (segments_grad-C2)}}
      tile.segments_grad %g, %u, %v, %knots, %coefficients, %count into %moments rows %rows
          : !tile.val<[r, c], f32>, !tile.buffer<[t], f32>, !tile.buffer<[c], f32>, !tile.buffer<[8], f32>,
            !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], i32>, !tile.buffer<[b, hq, 9, 2], f32>,
            !tile.buffer<[b, hq, r], f32>
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
      // expected-error-re @below {{count of !tile.buffer<[1], i32>,{{.*}}'!tile.buffer<[1], f32>' (segments_grad-C3)}}
      tile.segments_grad %g, %u, %v, %knots, %coefficients, %count into %moments rows %rows
          : !tile.val<[r, c], f32>, !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>,
            !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], f32>, !tile.buffer<[b, hq, 9, 2], f32>,
            !tile.buffer<[b, hq, r], f32>
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
      // CHECK: expected sums over b and hq: moments [b, hq, 9, 2], rows [b, hq, r], diagonals [b, hq, t],
      // CHECK-SAME: {{^}} found '!tile.buffer<[hq, 9, 2], f32>' (segments_grad-C4)
      // expected-error-re @below {{sums over b and hq:{{.*}}'!tile.buffer<[hq, 9, 2], f32>' (segments_grad-C4)}}
      tile.segments_grad %g, %u, %v, %knots, %coefficients, %count into %moments rows %rows
          : !tile.val<[r, c], f32>, !tile.buffer<[t], f32>, !tile.buffer<[r], f32>, !tile.buffer<[8], f32>,
            !tile.buffer<[hq, 9, 2], f32>, !tile.buffer<[1], i32>, !tile.buffer<[hq, 9, 2], f32>,
            !tile.buffer<[b, hq, r], f32>
      tile.yield
    }
  }
}
