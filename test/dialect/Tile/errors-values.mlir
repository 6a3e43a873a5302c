// One case per constraint of memory and values (docs/spec-tile.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %L = tile.buffer "l" residual : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      // expected-error @below {{expected a panel, a vector or a head scalar, found a value over [r, c], which is virtual (load-C1)}}
      %x = tile.load %L : !tile.buffer<[b, hq, r], f32> -> !tile.val<[r, c], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %L = tile.buffer "l" residual : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{expected the buffer's extents to hold a value over [r, d], found '!tile.buffer<[b, hq, r], f32>' (load-C2)}}
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
    // expected-error @below {{expected no extent hq in a load of a value over c outside a stream over key heads, whose columns belong to no query head (load-C6)}}
    %x = tile.load %F : !tile.buffer<[b, hq, c], f32> -> !tile.val<[c], f32>
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
      // expected-error @below {{expected a panel, a vector or a head scalar, found a value over [r, c], which is virtual (store-C1)}}
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
    // expected-error @below {{expected the buffer's extents to hold a value over [r, e], found '!tile.buffer<[b, hq, r, d], f32>' (store-C2)}}
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
      // expected-error @below {{expected a store inside a stream to be a snapshot: a value over r to a buffer with extent kb (store-C5)}}
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
    // expected-error @below {{expected extents b and hq, so that work items never write the same element, found '!tile.buffer<[b, hkv, c, d], f32>' (store-C7)}}
    tile.store %x, %X : !tile.val<[c, d], f32> -> !tile.buffer<[b, hkv, c, d], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" result : !tile.buffer<[b, hq, c, d], f32>
  tile.stage @s forward over ["b", "hkv"] {
    %x = tile.constant 1.0 : !tile.val<[c, d], f32>
    // expected-error @below {{expected extents b and hkv, so that work items never write the same element, found '!tile.buffer<[b, hq, c, d], f32>' (store-C7)}}
    tile.store %x, %X : !tile.val<[c, d], f32> -> !tile.buffer<[b, hq, c, d], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{expected 1 region arguments, found 2 (map-C1)}}
    %y = tile.map(%x) : (!tile.val<[r], f32>) -> !tile.val<[r], f32> {
    ^bb0(%a: f32, %b: index):
      tile.yield %a : f32
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{expected 1 yielded values, found 0 (map-C2)}}
    %y = tile.map(%x) : (!tile.val<[r], f32>) -> !tile.val<[r], f32> {
    ^bb0(%a: f32):
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{expected an input or a result, found neither (map-C3)}}
    tile.map() : () -> () {
    ^bb0:
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{expected results over the same spaces, found [r] and [] (map-C4)}}
    %y, %z = tile.map(%x) : (!tile.val<[r], f32>) -> (!tile.val<[r], f32>, !tile.val<[], f32>) {
    ^bb0(%a: f32):
      tile.yield %a, %a : f32, f32
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r, e], f32>
    // expected-error @below {{expected inputs that broadcast to [r], found '!tile.val<[r, e], f32>' (map-C5)}}
    %y = tile.map(%x) : (!tile.val<[r, e], f32>) -> !tile.val<[r], f32> {
    ^bb0(%a: f32):
      tile.yield %a : f32
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{expected region argument 0 to have type 'f32', found 'f64' (map-C6)}}
    %y = tile.map(%x) : (!tile.val<[r], f32>) -> !tile.val<[r], f32> {
    ^bb0(%a: f64):
      %y = arith.truncf %a : f64 to f32
      tile.yield %y : f32
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{expected a yielded value of 'f32', found 'f64' (map-C7)}}
    %y = tile.map(%x) : (!tile.val<[r], f32>) -> !tile.val<[r], f32> {
    ^bb0(%a: f32):
      %w = arith.extf %a : f32 to f64
      tile.yield %w : f64
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    %y = tile.map(%x) : (!tile.val<[r], f32>) -> !tile.val<[r], f32> {
    ^bb0(%a: f32):
      // expected-error @below {{expected scalar code: arith, math, scf, loads and stores of tile.scratch, tile.read, write, accumulate and size (map-C8)}}
      %v = arith.constant dense<1.0> : vector<4xf32>
      tile.yield %a : f32
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{expected elements of f32, f64, bf16, f16, tf32 or index, found 'vector<4xf32>' (val-C1)}}
    %x = tile.constant 1.0 : !tile.val<[r], vector<4xf32>>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    %y = tile.map(%x) : (!tile.val<[r], f32>) -> !tile.val<[r], f32> {
    ^bb0(%a: f32):
      // expected-error @below {{expected scalar code: arith, math, scf, loads and stores of tile.scratch, tile.read, write, accumulate and size (map-C8)}}
      %v = vector.broadcast %a : f32 to vector<4xf32>
      %b = vector.extract %v[0] : f32 from vector<4xf32>
      tile.yield %b : f32
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %L = tile.buffer "l" residual : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    %batch = tile.index "b" : !tile.val<[], index>
    %head = tile.index "hq" : !tile.val<[], index>
    %row = tile.index "r" : !tile.val<[r], index>
    // expected-error @below {{expected effects only by tile.accumulate, found tile.write (map-C9)}}
    tile.map(%x, %batch, %head, %row) : (!tile.val<[r], f32>, !tile.val<[], index>, !tile.val<[], index>, !tile.val<[r], index>) -> () {
    ^bb0(%a: f32, %b: index, %h: index, %i: index):
      tile.write %a, %L[%b, %h, %i] : f32 -> !tile.buffer<[b, hq, r], f32>
      tile.yield
    }
  }
}

// -----

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
    %x = tile.constant 1.0 : !tile.val<[r, e], f32>
    // expected-error @below {{expected the result to be the input without d, found '!tile.val<[r, e], f32>' to '!tile.val<[r], f32>' (reduce-C1)}}
    %y = tile.reduce add over d %x : !tile.val<[r, e], f32> -> !tile.val<[r], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{expected a reduction over r inside a stream, where it is over the current block (reduce-C2)}}
    %y = tile.reduce add over r %x : !tile.val<[r], f32> -> !tile.val<[], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r, e], f32>
    // expected-error @below {{expected add or max, found min (reduce-C3)}}
    %y = tile.reduce min over e %x : !tile.val<[r, e], f32> -> !tile.val<[r], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %V = tile.buffer "v" argument : !tile.buffer<[b, hkv, c, e], f32>
  tile.stage @s forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    tile.stream any {
      %v = tile.load %V : !tile.buffer<[b, hkv, c, e], f32> -> !tile.val<[c, e], f32>
      // expected-error @below {{expected d in both operands and a result over their other spaces, found '!tile.val<[r, d], f32>', '!tile.val<[c, e], f32>' to '!tile.val<[r, c], f32>' (dot-C1)}}
      %s = tile.dot %q, %v over d : !tile.val<[r, d], f32>, !tile.val<[c, e], f32> -> !tile.val<[r, c], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  tile.stage @s forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    tile.stream any {
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      %w = tile.constant 1.0 : !tile.val<[r, c], f32>
      %i = tile.constant 0.0 : !tile.val<[r], f32>
      // expected-error @below {{expected init to broadcast to the result's [c, d], found '!tile.val<[r], f32>' (dot-C2)}}
      %s = tile.dot %w, %q over r init(%i : !tile.val<[r], f32>) : !tile.val<[r, c], f32>, !tile.val<[r, d], f32> -> !tile.val<[c, d], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], bf16>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  tile.stage @s forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], bf16> -> !tile.val<[r, d], bf16>
    tile.stream any {
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      // expected-error @below {{expected operands of the same element type and a result of f32, found 'bf16', 'f32' to '!tile.val<[r, c], f32>' (dot-C3)}}
      %s = tile.dot %q, %k over d : !tile.val<[r, d], bf16>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %a = tile.constant 1.0 : !tile.val<[r, c], f32>
      %x0 = tile.constant 1.0 : !tile.val<[r], f32>
      // expected-error @below {{expected `plus` if and only if the scan is linear (scan-C1)}}
      %x, %n = tile.scan linear ascending %a carry %x0 : !tile.val<[r, c], f32>, !tile.val<[r], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %a = tile.constant 1.0 : !tile.val<[r, c], f32>
      %x0 = tile.constant 1.0 : !tile.val<[r], f32>
      // expected-error @below {{expected a value over [r, c] and a carry over [r], found '!tile.val<[r], f32>' and '!tile.val<[r], f32>' (scan-C2)}}
      %x, %n = tile.scan mul ascending %x0 carry %x0 : !tile.val<[r], f32>, !tile.val<[r], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %a = tile.constant 1.0 : !tile.val<[r, c], f32>
      %x0 = tile.constant 1.0 : !tile.val<[r], f32>
      // expected-error @below {{expected `plus` of type '!tile.val<[r, c], f32>', found '!tile.val<[r], f32>' (scan-C3)}}
      %x, %n = tile.scan linear ascending %a plus %x0 : !tile.val<[r], f32> carry %x0 : !tile.val<[r, c], f32>, !tile.val<[r], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %a = tile.constant 1.0 : !tile.val<[r, c], f32>
      %x0 = tile.constant 1.0 : !tile.val<[r], f32>
      // expected-error @below {{expected ascending or descending, found any (scan-C4)}}
      %x, %n = tile.scan mul any %a carry %x0 : !tile.val<[r, c], f32>, !tile.val<[r], f32>
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
  tile.stage @s forward over ["b", "hq"] {
    %q = tile.constant 1.0 : <[r, d], tf32>
    tile.stream any {
      %k = tile.constant 1.0 : <[c, d], tf32>
      // expected-error @below {{expected operands of the same element type and a result of f32, found 'tf32', 'tf32' to '!tile.val<[r, c], tf32>' (dot-C3)}}
      %s = tile.dot %q, %k over d : !tile.val<[r, d], tf32>, !tile.val<[c, d], tf32> -> !tile.val<[r, c], tf32>
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %q = tile.constant 1.0 : !tile.val<[r, d], f32>
      %k = tile.constant 1.0 : !tile.val<[c, d], f32>
      // expected-error @below {{expected c in both operands and a result over their other spaces, found '!tile.val<[r, d], f32>', '!tile.val<[c, d], f32>' to '!tile.val<[r, d], f32>' (dot-C1)}}
      %s = tile.dot %q, %k over c : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, d], f32>
      tile.yield
    }
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

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %i = tile.position "r" : !tile.val<[r], index>
    // expected-error @below {{expected results of floating-point numbers, found '!tile.val<[r], index>' (map-C10)}}
    %j = tile.map(%i) : (!tile.val<[r], index>) -> !tile.val<[r], index> {
    ^bb0(%a: index):
      tile.yield %a : index
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hkv"] {
    %h = tile.index "hq" : !tile.val<[], index>
    // expected-error @below {{expected no tile.index "hq" for values over c outside a stream over key heads, whose columns belong to no query head (map-C11)}}
    %j = tile.map(%h) : (!tile.val<[], index>) -> !tile.val<[c], f32> {
    ^bb0(%a: index):
      %x = arith.constant 1.0 : f32
      tile.yield %x : f32
    }
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
      // expected-error @below {{expected a seed of i64, or one per batch entry, found '!tile.buffer<[hq], i64>' (random-C2)}}
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
