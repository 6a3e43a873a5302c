// RUN: pe-opt %s --pe-schedule-cpu --pe-tile-to-cpu --split-input-file --verify-diagnostics

// A load of 16-bit values.
tile.plan @queries attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f16>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f16>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @forward forward over ["b", "hq"] {
    // expected-error @below {{expected values of f32 or bf16, found '!tile.val<[r, d], f16>'; loads extend}}
    %q0 = tile.load %Q : !tile.buffer<[b, hq, r, d], f16> -> !tile.val<[r, d], f16>
    %q = tile.map(%q0) : (!tile.val<[r, d], f16>) -> !tile.val<[r, d], f32> {
    ^bb0(%x: f16):
      %z = arith.extf %x : f16 to f32
      tile.yield %z : f32
    }
    %s0 = tile.constant 0.0 : !tile.val<[r], f32>
    %s = tile.stream ascending carry(%s0 : !tile.val<[r], f32>) {
    ^bb0(%sc: !tile.val<[r], f32>):
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f16> -> !tile.val<[c, d], f32>
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
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f16>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f16>
  tile.stage @forward forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %s0 = tile.constant 0.0 : !tile.val<[r], f32>
    %s = tile.stream ascending carry(%s0 : !tile.val<[r], f32>) {
    ^bb0(%sc: !tile.val<[r], f32>):
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f16> -> !tile.val<[c, d], f32>
      %x = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %xb = tile.reduce max over c %x : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %xb : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    // expected-error @below {{'tile.map' op expected values of f32 or bf16, found}}
    %n = tile.map(%s) : (!tile.val<[r], f32>) -> !tile.val<[r], f16> {
    ^bb0(%x: f32):
      %z = arith.truncf %x : f32 to f16
      tile.yield %z : f16
    }
    tile.store %n, %O : !tile.val<[r], f16> -> !tile.buffer<[b, hq, r], f16>
  }
}
