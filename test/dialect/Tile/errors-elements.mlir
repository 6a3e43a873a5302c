// One case per constraint of reads and writes of single elements (docs/spec-tile.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  tile.stage @s prepare over ["hq"] {
    tile.foreach over ["r"] {
    ^bb0(%h: index, %i: index):
      // expected-error @below {{expected 1 indices, found 2 (read-C1)}}
      %x = tile.read %X[%h, %i] : !tile.buffer<[hq], f32> -> f32
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  tile.stage @s prepare over ["hq"] {
    tile.foreach over ["r"] {
    ^bb0(%h: index, %i: index):
      // expected-error @below {{expected the buffer's element type 'f32', found 'f64' (read-C2)}}
      %x = tile.read %X[%h] : !tile.buffer<[hq], f32> -> f64
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  %c = arith.constant 0 : index
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{expected to be inside a tile.foreach or tile.map (read-C3)}}
    %x = tile.read %X[%c] : !tile.buffer<[hq], f32> -> f32
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  tile.stage @s prepare over ["hq"] {
    tile.foreach over ["r"] {
    ^bb0(%h: index, %i: index):
      %v = arith.constant 1.0 : f32
      // expected-error @below {{expected 1 indices, found 0 (write-C1)}}
      tile.write %v, %X[] : f32 -> !tile.buffer<[hq], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  tile.stage @s prepare over ["hq"] {
    tile.foreach over ["r"] {
    ^bb0(%h: index, %i: index):
      %v = arith.constant 1.0 : f64
      // expected-error @below {{expected the buffer's element type 'f32', found 'f64' (write-C2)}}
      tile.write %v, %X[%h] : f64 -> !tile.buffer<[hq], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  %c = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{expected to be inside a tile.foreach or tile.map (write-C3)}}
    tile.write %v, %X[%c] : f32 -> !tile.buffer<[hq], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  tile.stage @s prepare over ["hq"] {
    tile.foreach over ["r"] {
    ^bb0(%h: index, %i: index):
      %v = arith.constant 1.0 : f32
      // expected-error @below {{expected 1 indices, found 0 (accumulate-C1)}}
      tile.accumulate %v, %X[] : f32 -> !tile.buffer<[hq], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  tile.stage @s prepare over ["hq"] {
    tile.foreach over ["r"] {
    ^bb0(%h: index, %i: index):
      // expected-error @below {{expected the buffer's element type 'f32', found 'index' (accumulate-C2)}}
      tile.accumulate %i, %X[%h] : index -> !tile.buffer<[hq], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  %c = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{expected to be inside a tile.foreach or tile.map (accumulate-C3)}}
    tile.accumulate %v, %X[%c] : f32 -> !tile.buffer<[hq], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      %hq = tile.index "hq" : !tile.val<[], index>
      tile.map(%x, %hq) : (!tile.val<[r, c], f32>, !tile.val<[], index>) -> () {
      ^bb0(%v: f32, %h: index):
        // expected-error-re @below {{indices that begin with tile.index "b" and "hq",{{.*}}(accumulate-C4)}}
        tile.accumulate %v, %X[%h] : f32 -> !tile.buffer<[hq], f32>
        tile.yield
      }
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  tile.stage @s forward over ["b", "hq"] {
    %c = arith.constant 0 : index
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    tile.map(%x) : (!tile.val<[r], f32>) -> () {
    ^bb0(%v: f32):
      // expected-error @below {{and "hq", so that work items never share an element (accumulate-C4)}}
      tile.accumulate %v, %X[%c] : f32 -> !tile.buffer<[hq], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[b, hq], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      %b0 = tile.index "b" : !tile.val<[], index>
      %hq = tile.index "hq" : !tile.val<[], index>
      tile.map(%x, %b0, %hq) : (!tile.val<[r, c], f32>, !tile.val<[], index>, !tile.val<[], index>) -> () {
      ^bb0(%v: f32, %b: index, %h: index):
        // expected-error @below {{expected a sum in a map, found by max (accumulate-C5)}}
        tile.accumulate %v, %X[%b, %h] by max : f32 -> !tile.buffer<[b, hq], f32>
        tile.yield
      }
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary {zero} : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.foreach over ["r"] {
    ^bb0(%b: index, %h: index, %i: index):
      %v = arith.constant 1.0 : f32
      // expected-error @below {{expected `own` in a map over pairs (accumulate-C6)}}
      tile.accumulate %v, %X[%b, %h, %i] own : f32 -> !tile.buffer<[b, hq, r], f32>
      tile.yield
    }
  }
}
