// One case per constraint of tables indexed by distance, and of their gradients (docs/spec-tile.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

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
      // expected-error @below {{with extent t last, heads before it, found '!tile.buffer<[t, hq], f32>' (window-C2)}}
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
      // expected-error @below {{heads and slots before it, found '!tile.buffer<[b, hq, r], f32>' (window_grad-C2)}}
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
      // CHECK: expected extents b and hq, so that work items never share an element,
      // CHECK-SAME: {{^}} found '!tile.buffer<[hq, t], f32>' (window_grad-C3)
      // expected-error-re @below {{expected extents b and hq,{{.*}}'!tile.buffer<[hq, t], f32>' (window_grad-C3)}}
      tile.window_grad %x, %T : !tile.val<[r, c], f32> -> !tile.buffer<[hq, t], f32>
      tile.yield
    }
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
      // CHECK: expected an f32 table of extents b, hq, a number of distances and r,
      // CHECK-SAME: {{^}} found '!tile.buffer<[b, hq, r, 33], f32>' (near-C2)
      // expected-error @below {{distances and r, found '!tile.buffer<[b, hq, r, 33], f32>' (near-C2)}}
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
