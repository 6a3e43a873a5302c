// One case per constraint of reductions, products, running maxima and scans (docs/spec-tile.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r, e], f32>
    // expected-error-re @below {{the result to be the input without d,{{.*}}'!tile.val<[r], f32>' (reduce-C1)}}
    %y = tile.reduce add over d %x : !tile.val<[r, e], f32> -> !tile.val<[r], f32>
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    // expected-error @below {{a reduction over r inside a stream, where it is over the current block (reduce-C2)}}
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
      // expected-error-re @below {{d in both operands and a result over their other spaces, found{{.*}}(dot-C1)}}
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
      // expected-error @below {{init to broadcast to the result's [c, d], found '!tile.val<[r], f32>' (dot-C2)}}
      %s = tile.dot %w, %q over r init(%i : !tile.val<[r], f32>)
          : !tile.val<[r, c], f32>, !tile.val<[r, d], f32> -> !tile.val<[c, d], f32>
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
      // expected-error-re @below {{operands of the same element type{{.*}}, found 'bf16', 'f32' to{{.*}}(dot-C3)}}
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
      // expected-error @below {{expected `plus` if and only if the scan is linear (scan-C1)}}
      %x, %n = tile.scan odds ascending %a plus %a : !tile.val<[r, c], f32> carry %x0
          : !tile.val<[r, c], f32>, !tile.val<[r], f32>
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
      // expected-error-re @below {{a value over [r, c] and a carry over [r],{{.*}}'!tile.val<[r], f32>' (scan-C2)}}
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
      // expected-error @below {{`plus` of type '!tile.val<[r, c], f32>', found '!tile.val<[r], f32>' (scan-C3)}}
      %x, %n = tile.scan linear ascending %a plus %x0 : !tile.val<[r], f32> carry %x0
          : !tile.val<[r, c], f32>, !tile.val<[r], f32>
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
    %q = tile.constant 1.0 : <[r, d], tf32>
    tile.stream any {
      %k = tile.constant 1.0 : <[c, d], tf32>
      // expected-error @below {{and a result of f32, found 'tf32', 'tf32' to '!tile.val<[r, c], tf32>' (dot-C3)}}
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
      // expected-error-re @below {{c in both{{.*}}'!tile.val<[c, d], f32>' to '!tile.val<[r, d], f32>' (dot-C1)}}
      %s = tile.dot %q, %k over c : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, d], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %s = tile.constant 1.0 : !tile.val<[r, c], f32>
      %m = tile.constant 1.0 : !tile.val<[r], f32>
      // expected-error-re @below {{scores over [r, c] and a maximum over [r], found{{.*}} (rescale-C1)}}
      %x, %o, %n, %l = tile.rescale %s from %s(%m) unit 1.0 slack 8.0
          : <[r, c], f32>, <[r, c], f32>, !tile.val<[r], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %s = tile.constant 1.0 : !tile.val<[r, c], f32>
      %m = tile.constant 1.0 : !tile.val<[r], f32>
      // expected-error @below {{expected sums over r and not c, found '!tile.val<[r, c], f32>' (rescale-C2)}}
      %x, %o, %n, %l = tile.rescale %s from %m(%s) unit 1.0 slack 8.0
          : <[r, c], f32>, <[r], f32>, !tile.val<[r, c], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %s = tile.constant 1.0 : !tile.val<[r, c], f32>
      %m = tile.constant 1.0 : !tile.val<[r], f32>
      // expected-error @below {{unit and a slack of at least 0, found 0.000000e+00 and 8.000000e+00 (rescale-C3)}}
      %x, %o, %n, %l = tile.rescale %s from %m(%m) unit 0.0 slack 8.0 : <[r, c], f32>, <[r], f32>, !tile.val<[r], f32>
      tile.yield
    }
  }
}

// -----

tile.plan @p attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %s = tile.constant 1.0 : !tile.val<[r, c], f32>
      %m = tile.constant 1.0 : !tile.val<[r], f32>
      // expected-error @below {{unit and a slack of at least 0, found 1.000000e+00 and -1.000000e+00 (rescale-C3)}}
      %x, %o, %n, %l = tile.rescale %s from %m(%m) unit 1.0 slack -1.0 : <[r, c], f32>, <[r], f32>, !tile.val<[r], f32>
      tile.yield
    }
  }
}
