// One case per constraint of loads and stores (docs/spec-tile.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %L = tile.buffer "l" residual : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      // expected-error-re @below {{a head scalar or, in a stream, pairs{{.*}}over [r, c] and {{.*}} (load-C1)}}
      %x = tile.load %L : !tile.buffer<[b, hq, r], f32> -> !tile.val<[r, c], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %L = tile.buffer "l" residual : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{extents to hold a value over [r, d], found '!tile.buffer<[b, hq, r], f32>' (load-C2)}}
    %x = tile.load %L : !tile.buffer<[b, hq, r], f32> -> !tile.val<[r, d], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq, t], f32>
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{expected extents that name the value's indices, found t (load-C3)}}
    %x = tile.load %X : !tile.buffer<[hq, t], f32> -> !tile.val<[], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f64>
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{expected the buffer's element type 'f64', found a value of 'f32' (load-C4)}}
    %x = tile.load %X : !tile.buffer<[hq], f64> -> !tile.val<[], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %S = tile.buffer "s" residual : !tile.buffer<[b, hq, kb, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{expected a buffer with extent kb to be loaded only inside a stream (load-C5)}}
    %x = tile.load %S : !tile.buffer<[b, hq, kb, r], f32> -> !tile.val<[r], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %F = tile.buffer "f" argument : !tile.buffer<[b, hq, c], f32>
  tile.stage @s forward over ["b", "hkv"] {
    // expected-error-re @below {{no extent hq in a load of a value over c outside a stream over key{{.*}}(load-C6)}}
    %x = tile.load %F : !tile.buffer<[b, hq, c], f32> -> !tile.val<[c], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64, key_split = 64 : i64} {
  %S = tile.buffer "s" temporary : !tile.buffer<[b, hq, ks, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      // expected-error-re @below {{extent ks to be loaded only inside a stream over splits (load-C7)}}
      %x = tile.load %S : !tile.buffer<[b, hq, ks, r], f32> -> !tile.val<[r], f32>
      tile.yield
    }
  }
}

// -----

func.func @outside(%b: !tile.buffer<[hq], f32>) {
  // expected-error @below {{expects parent op to be one of 'tile.stage, tile.stream'}}
  %x = tile.load %b : !tile.buffer<[hq], f32> -> !tile.val<[], f32>
  return
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %L = tile.buffer "l" residual : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %w = tile.constant 1.0 : !tile.val<[r, c], f32>
      // expected-error-re @below {{found a value over [r, c] and '!tile.buffer<[b, hq, r], f32>' (store-C1)}}
      tile.store %w, %L : !tile.val<[r, c], f32> -> !tile.buffer<[b, hq, r], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" result : !tile.buffer<[b, hq, r, d], f32>
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r, e], f32>
    // expected-error @below {{to hold a value over [r, e], found '!tile.buffer<[b, hq, r, d], f32>' (store-C2)}}
    tile.store %x, %X : !tile.val<[r, e], f32> -> !tile.buffer<[b, hq, r, d], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" result : !tile.buffer<[b, hq, r, t], f32>
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{expected extents that name the value's indices, found t (store-C3)}}
    tile.store %x, %X : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r, t], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" result : !tile.buffer<[b, hq, r], f64>
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{expected the buffer's element type 'f64', found a value of 'f32' (store-C4)}}
    tile.store %x, %X : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f64>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r, e], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, e], f32>
      // expected-error @below {{to be of pairs or a snapshot: a value over r to a buffer with extent kb (store-C5)}}
      tile.store %x, %O : !tile.val<[r, e], f32> -> !tile.buffer<[b, hq, r, e], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" result : !tile.buffer<[b, hq, kb, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{expected a buffer with extent kb to be stored only inside a stream (store-C6)}}
    tile.store %x, %X : !tile.val<[r], f32> -> !tile.buffer<[b, hq, kb, r], f32>
  }
}

// -----

// All query heads of the group would write the same key.
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" result : !tile.buffer<[b, hkv, c, d], f32>
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[c, d], f32>
    // expected-error-re @below {{extents b and hq, so that work items never write the same element,{{.*}}(store-C7)}}
    tile.store %x, %X : !tile.val<[c, d], f32> -> !tile.buffer<[b, hkv, c, d], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" result : !tile.buffer<[b, hq, c, d], f32>
  tile.stage @s forward over ["b", "hkv"] {
    %x = tile.constant 1.0 : !tile.val<[c, d], f32>
    // expected-error-re @below {{extents b and hkv,{{.*}}, found '!tile.buffer<[b, hq, c, d], f32>' (store-C7)}}
    tile.store %x, %X : !tile.val<[c, d], f32> -> !tile.buffer<[b, hq, c, d], f32>
  }
}

// -----

// All splits would write the same element.
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64, key_split = 64 : i64} {
  %X = tile.buffer "x" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hkv", "ks"] {
    tile.stream any {
    }
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error-re @below {{extent ks in every store of a stage over ks,{{.*}}<[b, hq, r], f32>' (store-C8)}}
    tile.store %x, %X : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64, key_split = 64 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[b, hq, ks, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{extent ks in every store of a stage over ks, and in no other, found}}
    tile.store %x, %X : !tile.val<[r], f32> -> !tile.buffer<[b, hq, ks, r], f32>
  }
}
