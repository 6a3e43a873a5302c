// One case per constraint of value types, positions, indices and constants (docs/spec-tile.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{expected elements of f32, f64, bf16, f16, tf32 or index, found 'vector<4xf32>' (val-C1)}}
    %x = tile.constant 1.0 : !tile.val<[r], vector<4xf32>>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{expected the space r or c, found d (position-C1)}}
    %i = tile.position "d" : !tile.val<[r], index>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{expected a result of !tile.val<[r], index>, found '!tile.val<[c], index>' (position-C2)}}
    %i = tile.position "r" : !tile.val<[c], index>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      // expected-error @below {{expected to be an input only of maps, found a use by tile.reduce (position-C3)}}
      %i = tile.position "r" : !tile.val<[r], index>
      %x = tile.reduce add over r %i : !tile.val<[r], index> -> !tile.val<[], index>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{expected the space b, hq, r or c, found hkv (index-C1)}}
    %i = tile.index "hkv" : !tile.val<[], index>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{expected a result of !tile.val<[], index>, found '!tile.val<[], f32>' (index-C2)}}
    %i = tile.index "b" : !tile.val<[], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      // expected-error @below {{expected to be an input only of maps, found a use by tile.reduce (index-C3)}}
      %i = tile.index "c" : !tile.val<[c], index>
      %x = tile.reduce add over c %i : !tile.val<[c], index> -> !tile.val<[], index>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{expected a floating-point number, found '!tile.val<[r], index>' (constant-C1)}}
    %i = tile.constant 1.0 : !tile.val<[r], index>
  }
}
