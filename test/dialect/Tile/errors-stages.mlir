// One case per constraint of stages and launches (docs/spec-tile.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error-re @below {{"heads": expected the names b,{{.*}}, capacity, t, kb, ks, found heads (stage-C1)}}
  tile.stage @s forward over ["heads"] {
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %a = arith.constant 1 : index
    // expected-error @below {{only tile values, a stream, loops, sizes and constants in a tile.stage (stage-C2)}}
    %b = arith.addi %a, %a : index
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
    }
    // expected-error @below {{expected at most one stream in a stage, found a second (stage-C3)}}
    tile.stream any {
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    tile.foreach over ["r"] {
    ^bb0(%b: index, %h: index, %i: index):
    }
    // expected-error @below {{expected either loops or values in a stage, found both (stage-C4)}}
    %x = tile.constant 1.0 : !tile.val<[r], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error-re @below {{over ["b", "hq"], ["b", "hkv"] or, with a stream,{{.*}}found ["hq"] (stage-C5)}}
  tile.stage @s forward over ["hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
  }
}

// -----

// Only the stream of a stage visits the keys of a split.
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64, key_split = 64 : i64} {
  // expected-error @below {{or, with a stream, ["b", "hkv", "ks"], found ["b", "hkv", "ks"] (stage-C5)}}
  tile.stage @s forward over ["b", "hkv", "ks"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64, key_split = 64 : i64} {
  // expected-error @below {{or, with a stream, ["b", "hkv", "ks"], found ["b", "hq", "ks"] (stage-C5)}}
  tile.stage @s forward over ["b", "hq", "ks"] {
    tile.stream any {
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %L = tile.buffer "l" residual : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{expected no store before the stage's stream (stage-C6)}}
    tile.store %x, %L : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
    tile.stream any {
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  tile.stage @s forward over ["b", "hq"] {
    %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
    tile.stream any {
      // expected-error @below {{expected a value over c to be loaded inside the stream that uses it (stage-C7)}}
      %n = tile.reduce add over d %k : !tile.val<[c, d], f32> -> !tile.val<[c], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %L = tile.buffer "l" residual : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    // expected-error @below {{expected a buffer that the stage does not store (stage-C8)}}
    %x = tile.load %L : !tile.buffer<[b, hq, r], f32> -> !tile.val<[r], f32>
    tile.store %x, %L : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}

// -----

// A call knows its sizes before it runs a stage, and no block sizes.
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64, key_split = 64 : i64} {
  // expected-error @below {{when "9 - ks": expected the names b, hq, hkv, r, c, d, e, capacity, found ks (stage-C9)}}
  tile.stage @s forward over ["b", "hq"] when "9 - ks" {
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{when "9 -": expected an integer, a name or '(', found the end (stage-C9)}}
  tile.stage @s forward over ["b", "hq"] when "9 -" {
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected a plan with key_split, because the stage is over ks (stage-C10)}}
  tile.stage @s forward over ["b", "hkv", "ks"] {
    tile.stream any {
    }
  }
}

// -----

func.func private @f(memref<1xf32>, memref<8xi64>, index)
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %0 = tile.buffer "x" result : !tile.buffer<[r], f32>
  // expected-error @below {{items "b*t": expected the names b, hq, hkv, r, c, d, e, capacity, found t (launch-C1)}}
  tile.launch @f forward items "b*t" (%0) : !tile.buffer<[r], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %0 = tile.buffer "x" result : !tile.buffer<[r], f32>
  // expected-error @below {{expected a function of the enclosing module, found @f (launch-C2)}}
  tile.launch @f forward items "b" (%0) : !tile.buffer<[r], f32>
}

// -----

func.func private @f(memref<8xi64>, index)
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %0 = tile.buffer "x" result : !tile.buffer<[r], f32>
  // expected-error @below {{expected a callee of 3 arguments (buffers, frame, item), found 2 (launch-C3)}}
  tile.launch @f forward items "b" (%0) : !tile.buffer<[r], f32>
}

// -----

func.func private @f(memref<1xf32>, memref<8xi64>, index)
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %0 = tile.buffer "x" result : !tile.buffer<[r], f32>
  // expected-error-re @below {{when "9 - rows": expected the names b,{{.*}}, capacity, found rows (launch-C4)}}
  tile.launch @f forward items "b" when "9 - rows" (%0) : !tile.buffer<[r], f32>
}
