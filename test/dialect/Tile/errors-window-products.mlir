// One case per constraint of products with tables indexed by distance (docs/spec-tile.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

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
      // expected-error @below {{expected rows over r and a depth, found '!tile.val<[c, d], f32>' (window_dot-C2)}}
      %x = tile.window_dot %k, %T : !tile.val<[c, d], f32>, !tile.buffer<[d, t], f32> -> !tile.val<[r, c], f32>
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %T = tile.buffer "t" temporary : !tile.buffer<[t, d], bf16>
  tile.stage @s forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    tile.stream any {
      // expected-error-re @below {{table with extents d and t last,{{.*}}'!tile.buffer<[t, d], bf16>' (window_dot-C3)}}
      %x = tile.window_dot %q, %T : !tile.val<[r, d], f32>, !tile.buffer<[t, d], bf16> -> !tile.val<[r, c], f32>
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
      // expected-error-re @below {{f32 table with extents e and t last,{{.*}}, found{{.*}}(window_sum-C3)}}
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
      // expected-error-re @below {{extents t and d last,{{.*}}'!tile.buffer<[b, hq, d, t], f32>' (window_outer-C3)}}
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
      // expected-error @below {{share an element, found '!tile.buffer<[hq, t, d], f32>' (window_outer-C4)}}
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
      // expected-error-re @below {{pairs and rows of{{.*}}type,{{.*}}'!tile.val<[r, d], bf16>' (window_outer-C5)}}
      tile.window_outer %x, %q, %T : !tile.val<[r, c], f32>, !tile.val<[r, d], bf16> -> !tile.buffer<[b, hq, t, d], f32>
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
      // expected-error @below {{ends of within in ascending order, found 3 : i64 and 2 : i64 (window_dot-C4)}}
      %x = tile.window_dot %q, %T within [3, 2]
          : !tile.val<[r, d], f32>, !tile.buffer<[d, t], f32> -> !tile.val<[r, c], f32>
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
      %x = tile.window_dot %q, %T : !tile.val<[r, d], f32>, !tile.buffer<[d, t], f32> -> !tile.val<[r, c], f32>
      // expected-error @below {{(window_sum-C4)}}
      %y = tile.window_sum %x, %T within [3, 2]
          : !tile.val<[r, c], f32>, !tile.buffer<[d, t], f32> -> !tile.val<[r, d], f32>
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %T = tile.buffer "t" temporary : !tile.buffer<[d, t], f32>
  %G = tile.buffer "g" temporary {zero} : !tile.buffer<[b, hq, t, d], f32>
  tile.stage @s forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    tile.stream any {
      %x = tile.window_dot %q, %T : !tile.val<[r, d], f32>, !tile.buffer<[d, t], f32> -> !tile.val<[r, c], f32>
      // expected-error @below {{(window_outer-C6)}}
      tile.window_outer %x, %q, %G within [3, 2]
          : !tile.val<[r, c], f32>, !tile.val<[r, d], f32> -> !tile.buffer<[b, hq, t, d], f32>
    }
  }
}
