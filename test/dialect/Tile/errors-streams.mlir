// One case per constraint of streams (docs/spec-tile.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %m0 = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{expected the first results to have the carries' types (stream-C1)}}
    %m = tile.stream ascending carry(%m0 : !tile.val<[r], f32>) {
    ^bb0(%a: !tile.val<[r], f32>):
      %b = tile.constant 1.0 : !tile.val<[r, e], f32>
      tile.yield %b : !tile.val<[r, e], f32>
    } : !tile.val<[r, e], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %m0 = tile.constant 1.0 : !tile.val<[], f32>
    // expected-error @below {{expected carry 0 to be a value over r and not c, found '!tile.val<[], f32>' (stream-C2)}}
    %m = tile.stream ascending carry(%m0 : !tile.val<[], f32>) {
    ^bb0(%a: !tile.val<[], f32>):
      tile.yield %a : !tile.val<[], f32>
    } : !tile.val<[], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{expected folds to lose r or c, found '!tile.val<[r, c], f32>' (stream-C3)}}
    %m = tile.stream any {
      %a = tile.constant 1.0 : !tile.val<[r, c], f32>
      tile.yield %a : !tile.val<[r, c], f32>
    } : !tile.val<[r, c], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %m0 = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{expected ascending or descending for a stream with carries, found any (stream-C4)}}
    %m = tile.stream any carry(%m0 : !tile.val<[r], f32>) {
    ^bb0(%a: !tile.val<[r], f32>):
      tile.yield %a : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %m0 = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{expected stop_carry, the index of a carry over r, together with stop_below (stream-C5)}}
    %m = tile.stream ascending carry(%m0 : !tile.val<[r], f32>) attributes {stop_carry = 0 : i64} {
    ^bb0(%a: !tile.val<[r], f32>):
      tile.yield %a : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %m0 = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{expected stop_carry, the index of a carry over r, together with stop_below (stream-C5)}}
    %m = tile.stream ascending carry(%m0 : !tile.val<[r], f32>)
        attributes {stop_carry = 1 : i64, stop_below = 1.0e-9 : f64} {
    ^bb0(%a: !tile.val<[r], f32>):
      tile.yield %a : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %m0 = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{expected a skip buffer together with skip_below (stream-C6)}}
    %m = tile.stream ascending carry(%m0 : !tile.val<[r], f32>) attributes {skip_below = 1.0e-9 : f64} {
    ^bb0(%a: !tile.val<[r], f32>):
      tile.yield %a : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %L = tile.buffer "l" residual : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    %m0 = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{skip buffer with extents kb, r last, found '!tile.buffer<[b, hq, r], f32>' (stream-C7)}}
    %m = tile.stream ascending carry(%m0 : !tile.val<[r], f32>) skip(%L : !tile.buffer<[b, hq, r], f32>)
        attributes {skip_below = 1.0e-9 : f64} {
    ^bb0(%a: !tile.val<[r], f32>):
      tile.yield %a : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %m0 = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{expected one region argument per carry, of its type (stream-C8)}}
    %m = tile.stream ascending carry(%m0 : !tile.val<[r], f32>) {
      %a = tile.constant 1.0 : !tile.val<[r], f32>
      tile.yield %a : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{the body to yield every carry, then every fold, of the results' types (stream-C9)}}
    %m = tile.stream any {
      tile.yield
    } : !tile.val<[c], f32>
  }
}

// -----

// The keys of a split are merged by maps over rows.
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64, key_split = 64 : i64} {
  %S = tile.buffer "s" temporary : !tile.buffer<[b, hq, ks, r, e], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream ascending over_splits {
      %x = tile.load %S : !tile.buffer<[b, hq, ks, r, e], f32> -> !tile.val<[r, e], f32>
      // expected-error-re @below {{loads, maps and constants of values over r and not c{{.*}}splits (stream-C10)}}
      %y = tile.reduce add over e %x : !tile.val<[r, e], f32> -> !tile.val<[r], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64, key_split = 64 : i64} {
  %F = tile.buffer "f" argument : !tile.buffer<[b, hq, c], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream ascending over_splits {
      // expected-error-re @below {{of values over r and not c in a stream over splits (stream-C10)}}
      %x = tile.load %F : !tile.buffer<[b, hq, c], f32> -> !tile.val<[c], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64, key_split = 64 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{no folds of a stream over splits, in a stage that is not over ks (stream-C11)}}
    %z = tile.stream any over_splits {
      %x = tile.constant 1.0 : !tile.val<[r], f32>
      tile.yield %x : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64, key_split = 64 : i64} {
  tile.stage @s forward over ["b", "hkv", "ks"] {
    // expected-error @below {{no folds of a stream over splits, in a stage that is not over ks (stream-C11)}}
    tile.stream any over_splits {
    }
  }
}
