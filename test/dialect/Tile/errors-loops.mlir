// One case per constraint of loops, sizes and scratch memory (docs/spec-tile.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  tile.stage @s prepare over ["hq"] {
    // expected-error @below {{over "r - 1 -": expected an integer, a name or '(', found the end (foreach-C1)}}
    tile.foreach over ["r - 1 -"] {
    ^bb0(%h: index, %i: index):
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.parameter "k_start" default "0"
  tile.parameter "q_start" default "k_start + c - r"
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  tile.stage @s prepare over ["hq"] {
    // expected-error-re @below {{over "rows": expected the names b,{{.*}}k_start, q_start, found rows (foreach-C1)}}
    tile.foreach over ["rows"] {
    ^bb0(%h: index, %i: index):
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  tile.stage @s prepare over ["hq"] {
    // expected-error @below {{2 index arguments, one per space of the stage and one per extent, found 1 (foreach-C2)}}
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  tile.stage @s prepare over ["hq"] {
    // expected-error @below {{expected an empty tile.yield (foreach-C3)}}
    tile.foreach over ["r"] {
    ^bb0(%h: index, %i: index):
      tile.yield %i : index
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  tile.stage @s prepare over ["hq"] {
    tile.foreach over ["r"] {
    ^bb0(%h: index, %i: index):
      // expected-error-re @below {{expected scalar code: arith, math, scf,{{.*}}(foreach-C4)}}
      %m = memref.alloc() : memref<4xf32>
      tile.yield
    }
  }
}

// -----

// Nested loops are not allowed; use one loop over both extents.
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  tile.stage @s prepare over ["hq"] {
    tile.foreach over ["r"] {
    ^bb0(%h: index, %i: index):
      // expected-error @below {{expects parent op 'tile.stage'}}
      tile.foreach over ["c"] {
      ^bb0(%h2: index, %j: index):
      }
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.parameter "k_start" default "0"
  tile.parameter "q_start" default "k_start + c - r"
  %X = tile.buffer "x" temporary : !tile.buffer<[hq], f32>
  tile.stage @s prepare over ["hq"] {
    tile.foreach over ["r"] {
    ^bb0(%h: index, %i: index):
      // expected-error-re @below {{size "r + rows": expected the names b, hq,{{.*}}, found rows (size-C1)}}
      %n = tile.size "r + rows" : index
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s prepare over ["hq"] {
    tile.foreach over ["r"] {
    ^bb0(%h: index, %i: index):
      // expected-error @below {{a 1-d memref of f32 or f64 with a static size, found 'memref<4x4xf32>' (scratch-C1)}}
      %m = tile.scratch : memref<4x4xf32>
      tile.yield
    }
  }
}

// -----

func.func @f() {
  // expected-error @below {{expected to be inside a tile.foreach or tile.map (scratch-C2)}}
  %m = tile.scratch : memref<4xf32>
  return
}
