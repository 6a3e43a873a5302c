// One case per constraint of plans, stages, streams and launches (docs/spec-tile.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected a positive value_dim, found 0 (plan-C1)}}
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 0 : i64} {
}

// -----

// expected-error @below {{expected a distance_padding of at least 0, found -1 (plan-C1)}}
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64, distance_padding = -1 : i64} {
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected only extents, parameters, requirements, buffers, pairs, stages, launches and constants in a tile.plan (plan-C2)}}
  %n = tile.size "r" : index
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %0 = tile.buffer "q" argument : !tile.buffer<[r], f32>
  // expected-error @below {{expected unique buffer names in a plan, found a second "q" (plan-C3)}}
  %1 = tile.buffer "q" argument : !tile.buffer<[c], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{extent "rows": expected the names b, hq, hkv, r, c, d, e, t, kb, found rows (buffer-C1)}}
  %0 = tile.buffer "x" temporary : !tile.buffer<[rows], f32>
}

// -----

// Starts must not be extents: memory does not depend on them.
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{extent "r + q_start": expected the names b, hq, hkv, r, c, d, e, t, kb, found q_start (buffer-C1)}}
  %0 = tile.buffer "x" temporary : !tile.buffer<["r + q_start"], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{extent "ceildiv(r, 8": expected ')', found the end (buffer-C1)}}
  %0 = tile.buffer "x" temporary : !tile.buffer<["ceildiv(r, 8"], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{extent "2 r": expected an operator or the end, found 'r' (buffer-C1)}}
  %0 = tile.buffer "x" temporary : !tile.buffer<["2 r"], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{extent "r *": expected an integer, a name or '(', found the end (buffer-C1)}}
  %0 = tile.buffer "x" temporary : !tile.buffer<["r *"], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{extent "99999999999999999999": expected an integer below 2^63, found '99999999999999999999' (buffer-C1)}}
  %0 = tile.buffer "x" temporary : !tile.buffer<["99999999999999999999"], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected at most 64 nested parentheses}}
  %0 = tile.buffer "x" temporary : !tile.buffer<["((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((r))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))"], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected elements of f32, f64, bf16, f16, i32 or i64, found 'i8' (buffer-C2)}}
  %0 = tile.buffer "x" temporary : !tile.buffer<[r], i8>
}

// -----

// tf32 is a type of values but not of memory.
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected elements of f32, f64, bf16, f16, i32 or i64, found 'tf32' (buffer-C2)}}
  %0 = tile.buffer "x" temporary : !tile.buffer<[r], tf32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected no `zero` on a buffer that the caller fills (buffer-C3)}}
  %0 = tile.buffer "x" cotangent {zero} : !tile.buffer<[r], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{over "heads": expected the names b, hq, hkv, r, c, d, e, t, kb, found heads (stage-C1)}}
  tile.stage @s forward over ["heads"] {
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected left and right, each once, found before}}
  %m = tile.pairs band(before = 3)
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected left and right, each once, found left}}
  %m = tile.pairs band(left = 3, left = 4)
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %L = tile.buffer "low" temporary : !tile.buffer<[b, r], i32>
  // expected-error @below {{expected both bounds of the columns of a row, found one (pairs-C1)}}
  %m = "tile.pairs"(%L) <{operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> : (!tile.buffer<[b, r], i32>) -> !tile.pairs
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %L = tile.buffer "low" temporary : !tile.buffer<[b, r], i32>
  %H = tile.buffer "high" temporary : !tile.buffer<[b, c], i32>
  // expected-error @below {{expected bounds of i32 with extent r last, heads before it, found '!tile.buffer<[b, c], i32>' (pairs-C2)}}
  %m = tile.pairs columns(%L, %H : !tile.buffer<[b, r], i32>, !tile.buffer<[b, c], i32>)
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %R = tile.buffer "reach" temporary : !tile.buffer<[b, 2], i32>
  // expected-error @below {{expected a reach of i32 with extents b, 2, together with bounds of the columns, found '!tile.buffer<[b, 2], i32>' (pairs-C3)}}
  %m = tile.pairs within(%R : !tile.buffer<[b, 2], i32>)
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %S = tile.buffer "states" temporary : !tile.buffer<[b, "ceildiv(r,64)", "ceildiv(c,32)"], i32>
  // expected-error @below {{expected states of i32 with extents ceildiv(r,64), ceildiv(c,64) last, heads before them, found '!tile.buffer<[b, "ceildiv(r,64)", "ceildiv(c,32)"], i32>' (pairs-C4)}}
  %m = tile.pairs states(%S : !tile.buffer<[b, "ceildiv(r,64)", "ceildiv(c,32)"], i32>)
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %T = tile.buffer "taken" temporary : !tile.buffer<[b, r], i32>
  // expected-error @below {{expected taken columns of i32 with extents b, c, found '!tile.buffer<[b, r], i32>' (pairs-C5)}}
  %m = tile.pairs taken(%T : !tile.buffer<[b, r], i32>)
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %a = arith.constant 1 : index
    // expected-error @below {{expected only tile values, a stream, loops, sizes and constants in a tile.stage (stage-C2)}}
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
  // expected-error @below {{expected a stage with values to be over ["b", "hq"] or ["b", "hkv"], found ["hq"] (stage-C5)}}
  tile.stage @s forward over ["hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
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
    %m = tile.stream ascending carry(%m0 : !tile.val<[r], f32>) attributes {stop_carry = 1 : i64, stop_below = 1.0e-9 : f64} {
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
    // expected-error @below {{expected a skip buffer with extents kb, r last, found '!tile.buffer<[b, hq, r], f32>' (stream-C7)}}
    %m = tile.stream ascending carry(%m0 : !tile.val<[r], f32>) skip(%L : !tile.buffer<[b, hq, r], f32>) attributes {skip_below = 1.0e-9 : f64} {
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
    // expected-error @below {{expected the body to yield every carry, then every fold, of the results' types (stream-C9)}}
    %m = tile.stream any {
      tile.yield
    } : !tile.val<[c], f32>
  }
}

// -----

func.func private @f(memref<1xf32>, memref<7xi64>, index)
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %0 = tile.buffer "x" result : !tile.buffer<[r], f32>
  // expected-error @below {{items "b*t": expected the names b, hq, hkv, r, c, d, e, found t (launch-C1)}}
  tile.launch @f forward items "b*t" (%0) : !tile.buffer<[r], f32>
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %0 = tile.buffer "x" result : !tile.buffer<[r], f32>
  // expected-error @below {{expected a function of the enclosing module, found @f (launch-C2)}}
  tile.launch @f forward items "b" (%0) : !tile.buffer<[r], f32>
}

// -----

func.func private @f(memref<7xi64>, index)
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %0 = tile.buffer "x" result : !tile.buffer<[r], f32>
  // expected-error @below {{expected a callee of 3 arguments (buffers, frame, item), found 2 (launch-C3)}}
  tile.launch @f forward items "b" (%0) : !tile.buffer<[r], f32>
}

// -----

tile.plan @f attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  // expected-error @below {{expected owner "rows" or "columns", found "heads" (stage-C9)}}
  tile.stage @s forward over ["b", "hq"] attributes {owner = "heads"} {
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected a name that is not reserved, found "kb" (extent-C1)}}
  tile.extent "kb"
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected the names b, hq, hkv, r, c, d, e, t, kb, found n (require_values-C1)}}
  tile.require_values "x" ascending from "0" to "n"
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected the names b, hq, hkv, r, c, d, e, t, kb, found n (require-C1)}}
  tile.require "n" at_least "r + c" of "rows of 'table'"
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected a name that is not in use in the plan, found "hq" (extent-C1)}}
  tile.extent "hq"
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected the names b, hq, hkv, r, c, d, e, t, kb, found n (require-C1)}}
  tile.require "n" at_least "r + c" of "rows of 'table'"
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected a name that is not reserved, found "2 starts" (parameter-C1)}}
  tile.parameter "2 starts"
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected a name that is not in use in the plan, found "r" (parameter-C1)}}
  tile.parameter "r"
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{default of 'q_start': size expression 'k_start - r': expected the names b, hq, hkv, r, c, d, e, found 'k_start' (parameter-C2)}}
  tile.parameter "q_start" default "k_start - r"
  tile.parameter "k_start" default "0"
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  // expected-error @below {{expected `strided` on a tensor of the caller with an axis that is not cleared, found a gradient with `zero` of rank 2 (buffer-C4)}}
  %0 = tile.buffer "d_x" gradient {strided, zero} : !tile.buffer<[b, r], f32>
}
