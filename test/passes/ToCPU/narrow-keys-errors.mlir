// RUN: pe-opt %s --pe-schedule-cpu --pe-tile-to-cpu --split-input-file --verify-diagnostics

// Queries in 16 bits.
tile.plan @queries attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], bf16>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], bf16>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @forward forward over ["b", "hq"] {
    // expected-error @below {{f32, or keys that the stream only extends to f32, found '!tile.val<[r, d], bf16>'}}
    %q0 = tile.load %Q : !tile.buffer<[b, hq, r, d], bf16> -> !tile.val<[r, d], bf16>
    %q = tile.map(%q0) : (!tile.val<[r, d], bf16>) -> !tile.val<[r, d], f32> {
    ^bb0(%x: bf16):
      %z = arith.extf %x : bf16 to f32
      tile.yield %z : f32
    }
    %s0 = tile.constant 0.0 : !tile.val<[r], f32>
    %s = tile.stream ascending carry(%s0 : !tile.val<[r], f32>) {
    ^bb0(%sc: !tile.val<[r], f32>):
      %k0 = tile.load %K : !tile.buffer<[b, hkv, c, d], bf16> -> !tile.val<[c, d], bf16>
      %k = tile.map(%k0) : (!tile.val<[c, d], bf16>) -> !tile.val<[c, d], f32> {
      ^bb0(%x: bf16):
        %z = arith.extf %x : bf16 to f32
        tile.yield %z : f32
      }
      %x = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %xb = tile.reduce max over c %x : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %xb : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %O : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}

// -----

// A result in 16 bits.
tile.plan @output attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], bf16>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], bf16>
  tile.stage @forward forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %s0 = tile.constant 0.0 : !tile.val<[r], f32>
    %s = tile.stream ascending carry(%s0 : !tile.val<[r], f32>) {
    ^bb0(%sc: !tile.val<[r], f32>):
      %k0 = tile.load %K : !tile.buffer<[b, hkv, c, d], bf16> -> !tile.val<[c, d], bf16>
      %k = tile.map(%k0) : (!tile.val<[c, d], bf16>) -> !tile.val<[c, d], f32> {
      ^bb0(%x: bf16):
        %z = arith.extf %x : bf16 to f32
        tile.yield %z : f32
      }
      %x = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %xb = tile.reduce max over c %x : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %xb : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    // expected-error @below {{'tile.map' op expected values of f32, or keys}}
    %n = tile.map(%s) : (!tile.val<[r], f32>) -> !tile.val<[r], bf16> {
    ^bb0(%x: f32):
      %z = arith.truncf %x : f32 to bf16
      tile.yield %z : bf16
    }
    tile.store %n, %O : !tile.val<[r], bf16> -> !tile.buffer<[b, hq, r], bf16>
  }
}

// -----

// A map that does more than extend.
tile.plan @scaled attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], bf16>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @forward forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %s0 = tile.constant 0.0 : !tile.val<[r], f32>
    %s = tile.stream ascending carry(%s0 : !tile.val<[r], f32>) {
    ^bb0(%sc: !tile.val<[r], f32>):
      // expected-error @below {{f32, or keys that the stream only extends to f32, found '!tile.val<[c, d], bf16>'}}
      %k0 = tile.load %K : !tile.buffer<[b, hkv, c, d], bf16> -> !tile.val<[c, d], bf16>
      %k = tile.map(%k0) : (!tile.val<[c, d], bf16>) -> !tile.val<[c, d], f32> {
      ^bb0(%x: bf16):
        %z = arith.extf %x : bf16 to f32
        %y = arith.addf %z, %z : f32
        tile.yield %y : f32
      }
      %x = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %xb = tile.reduce max over c %x : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %xb : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %O : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}

// -----

// A load with another use.
tile.plan @two_uses attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], bf16>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @forward forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %s0 = tile.constant 0.0 : !tile.val<[r], f32>
    %s = tile.stream ascending carry(%s0 : !tile.val<[r], f32>) {
    ^bb0(%sc: !tile.val<[r], f32>):
      // expected-error @below {{f32, or keys that the stream only extends to f32, found '!tile.val<[c, d], bf16>'}}
      %k0 = tile.load %K : !tile.buffer<[b, hkv, c, d], bf16> -> !tile.val<[c, d], bf16>
      %k = tile.map(%k0) : (!tile.val<[c, d], bf16>) -> !tile.val<[c, d], f32> {
      ^bb0(%x: bf16):
        %z = arith.extf %x : bf16 to f32
        tile.yield %z : f32
      }
      %w = tile.map(%k0) : (!tile.val<[c, d], bf16>) -> !tile.val<[c, d], f32> {
      ^bb0(%x: bf16):
        %z = arith.extf %x : bf16 to f32
        %y = arith.negf %z : f32
        tile.yield %y : f32
      }
      %x = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %xb = tile.reduce max over c %x : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %xb : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %O : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}

// -----

// Keys that are read after the stream.
tile.plan @after attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], bf16>
  %G = tile.buffer "d_k" gradient : !tile.buffer<[b, hkv, c, d], f32>
  tile.stage @backward backward over ["b", "hkv"] {
    tile.stream any {
      tile.yield
    }
    // expected-error @below {{f32, or keys that the stream only extends to f32, found '!tile.val<[c, d], bf16>'}}
    %k0 = tile.load %K : !tile.buffer<[b, hkv, c, d], bf16> -> !tile.val<[c, d], bf16>
    %k = tile.map(%k0) : (!tile.val<[c, d], bf16>) -> !tile.val<[c, d], f32> {
    ^bb0(%x: bf16):
      %z = arith.extf %x : bf16 to f32
      tile.yield %z : f32
    }
    tile.store %k, %G : !tile.val<[c, d], f32> -> !tile.buffer<[b, hkv, c, d], f32>
  }
}

// -----

// Keys per query head, whose blocks differ between the heads of a key head.
tile.plan @query_heads attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hq, c, d], bf16>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @forward forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %s0 = tile.constant 0.0 : !tile.val<[r], f32>
    %s = tile.stream ascending carry(%s0 : !tile.val<[r], f32>) {
    ^bb0(%sc: !tile.val<[r], f32>):
      // expected-error @below {{f32, or keys that the stream only extends to f32, found '!tile.val<[c, d], bf16>'}}
      %k0 = tile.load %K : !tile.buffer<[b, hq, c, d], bf16> -> !tile.val<[c, d], bf16>
      %k = tile.map(%k0) : (!tile.val<[c, d], bf16>) -> !tile.val<[c, d], f32> {
      ^bb0(%x: bf16):
        %z = arith.extf %x : bf16 to f32
        tile.yield %z : f32
      }
      %x = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %xb = tile.reduce max over c %x : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %xb : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %O : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}

// -----

// A load without a use.
tile.plan @unused attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %R = tile.buffer "rows" argument : !tile.buffer<[b, hq, r], f16>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @forward forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %s0 = tile.constant 0.0 : !tile.val<[r], f32>
    %s = tile.stream ascending carry(%s0 : !tile.val<[r], f32>) {
    ^bb0(%sc: !tile.val<[r], f32>):
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      // expected-error @below {{f32, or keys that the stream only extends to f32, found '!tile.val<[r], f16>'}}
      %rows = tile.load %R : !tile.buffer<[b, hq, r], f16> -> !tile.val<[r], f16>
      %x = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %xb = tile.reduce max over c %x : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %xb : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %O : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}

// -----

// One number per key, which is not a panel.
tile.plan @vector attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], bf16>
  %U = tile.buffer "u" argument : !tile.buffer<[b, hkv, c], f16>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @forward forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %s0 = tile.constant 0.0 : !tile.val<[r], f32>
    %s = tile.stream ascending carry(%s0 : !tile.val<[r], f32>) {
    ^bb0(%sc: !tile.val<[r], f32>):
      %k0 = tile.load %K : !tile.buffer<[b, hkv, c, d], bf16> -> !tile.val<[c, d], bf16>
      %k = tile.map(%k0) : (!tile.val<[c, d], bf16>) -> !tile.val<[c, d], f32> {
      ^bb0(%x: bf16):
        %z = arith.extf %x : bf16 to f32
        tile.yield %z : f32
      }
      // expected-error @below {{'tile.load' op expected values of f32, or keys}}
      %u0 = tile.load %U : !tile.buffer<[b, hkv, c], f16> -> !tile.val<[c], f16>
      %u = tile.map(%u0) : (!tile.val<[c], f16>) -> !tile.val<[c], f32> {
      ^bb0(%x: f16):
        %z = arith.extf %x : f16 to f32
        tile.yield %z : f32
      }
      %y = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %x = tile.map(%y, %u) : (!tile.val<[r, c], f32>, !tile.val<[c], f32>) -> !tile.val<[r, c], f32> {
      ^bb0(%a: f32, %b: f32):
        %z = arith.addf %a, %b : f32
        tile.yield %z : f32
      }
      %xb = tile.reduce max over c %x : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %xb : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %O : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}
