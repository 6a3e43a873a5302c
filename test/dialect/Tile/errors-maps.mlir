// One case per constraint of tile.map (docs/spec-tile.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

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
      // expected-error-re @below {{scalar code: arith, math, scf, loads and stores of tile.scratch,{{.*}}(map-C8)}}
      %v = arith.constant dense<1.0> : vector<4xf32>
      tile.yield %a : f32
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    %y = tile.map(%x) : (!tile.val<[r], f32>) -> !tile.val<[r], f32> {
    ^bb0(%a: f32):
      // expected-error @below {{stores of tile.scratch, tile.read, write, accumulate and size (map-C8)}}
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
    tile.map(%x, %batch, %head, %row)
        : (!tile.val<[r], f32>, !tile.val<[], index>, !tile.val<[], index>, !tile.val<[r], index>) -> () {
    ^bb0(%a: f32, %b: index, %h: index, %i: index):
      tile.write %a, %L[%b, %h, %i] : f32 -> !tile.buffer<[b, hq, r], f32>
      tile.yield
    }
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
    // expected-error-re @below {{no tile.index "hq" for values{{.*}}, whose columns belong to no query head (map-C11)}}
    %j = tile.map(%h) : (!tile.val<[], index>) -> !tile.val<[c], f32> {
    ^bb0(%a: index):
      %x = arith.constant 1.0 : f32
      tile.yield %x : f32
    }
  }
}
