// RUN: pe-opt %s --pe-schedule-cpu --pe-tile-to-cpu --split-input-file --verify-diagnostics | FileCheck %s

// Stages without a fused form become plain loops, with a remark that gives the reason.
// CHECK-LABEL: func.func @computed_keys_forward
// CHECK-NOT:   vector.fma
tile.plan @computed_keys attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  // expected-remark @below {{stage @forward runs as plain loops: a panel of keys must be loaded}}
  tile.stage @forward forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %s0 = tile.constant 0.0 : !tile.val<[r], f32>
    %s = tile.stream ascending carry(%s0 : !tile.val<[r], f32>) {
    ^bb0(%sc: !tile.val<[r], f32>):
      %k0 = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      %k = tile.map(%k0) : (!tile.val<[c, d], f32>) -> !tile.val<[c, d], f32> {
      ^bb0(%x: f32):
        %z = arith.addf %x, %x : f32
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

tile.plan @computed_rows attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %G = tile.buffer "d_k" gradient : !tile.buffer<[b, hkv, c, d], f32>
  // expected-remark @below {{stage @backward runs as plain loops: a contraction over r must have no init}}
  tile.stage @backward backward over ["b", "hkv"] {
    %q0 = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %q = tile.map(%q0) : (!tile.val<[r, d], f32>) -> !tile.val<[r, d], f32> {
    ^bb0(%x: f32):
      %z = arith.addf %x, %x : f32
      tile.yield %z : f32
    }
    %g = tile.stream any {
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      %x = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %gb = tile.dot %x, %q over r : !tile.val<[r, c], f32>, !tile.val<[r, d], f32> -> !tile.val<[c, d], f32>
      tile.yield %gb : !tile.val<[c, d], f32>
    } : !tile.val<[c, d], f32>
    tile.store %g, %G : !tile.val<[c, d], f32> -> !tile.buffer<[b, hkv, c, d], f32>
  }
}

// -----

tile.plan @unknown_scalar attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  // expected-remark @below {{stage @forward runs as plain loops: 'scf.while' has no vector form}}
  tile.stage @forward forward over ["b", "hq"] {
    %s0 = tile.constant 0.0 : !tile.val<[r], f32>
    %s = tile.stream ascending carry(%s0 : !tile.val<[r], f32>) {
    ^bb0(%sc: !tile.val<[r], f32>):
      %row = tile.position "r" : !tile.val<[r], index>
      %column = tile.position "c" : !tile.val<[c], index>
      %x = tile.map(%row, %column) : (!tile.val<[r], index>, !tile.val<[c], index>) -> !tile.val<[r, c], f32> {
      ^bb0(%i: index, %j: index):
        %one = arith.constant 1 : index
        %n = scf.while (%a = %j) : (index) -> index {
          %more = arith.cmpi sgt, %a, %i : index
          scf.condition(%more) %a : index
        } do {
        ^bb0(%a: index):
          %less = arith.subi %a, %one : index
          scf.yield %less : index
        }
        %n32 = arith.index_cast %n : index to i32
        %z = arith.sitofp %n32 : i32 to f32
        tile.yield %z : f32
      }
      %xb = tile.reduce max over c %x : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %xb : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %O : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}

// -----

// The loops extend keys in 16 bits where they read them.
// CHECK-LABEL: func.func @narrow_keys_forward
// CHECK:       memref.load %{{.*}} : memref<{{.*}}xbf16
// CHECK:       arith.extui %{{.*}} : i16 to i32
tile.plan @narrow_keys attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], bf16>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  // expected-remark @below {{stage @forward runs as plain loops: a panel of keys must be loaded}}
  tile.stage @forward forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %s0 = tile.constant 0.0 : !tile.val<[r], f32>
    %s = tile.stream ascending carry(%s0 : !tile.val<[r], f32>) {
    ^bb0(%sc: !tile.val<[r], f32>):
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], bf16> -> !tile.val<[c, d], f32>
      %k2 = tile.map(%k) : (!tile.val<[c, d], f32>) -> !tile.val<[c, d], f32> {
      ^bb0(%x: f32):
        %z = arith.addf %x, %x : f32
        tile.yield %z : f32
      }
      %x = tile.dot %q, %k2 over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %xb = tile.reduce max over c %x : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %xb : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %O : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}

// -----

// A linear scan has no form with lanes along keys, which a stage of few rows needs.
tile.plan @linear_splits attributes {head_dim = 8 : i64, value_dim = 8 : i64, key_split = 64 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %S = tile.buffer "s" temporary : !tile.buffer<[b, hq, ks, r], f32>
  // expected-remark @below {{stage @forward runs as plain loops: 'tile.scan' has no form with lanes along keys}}
  tile.stage @forward forward over ["b", "hkv", "ks"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %s0 = tile.constant 0.0 : !tile.val<[r], f32>
    %s = tile.stream ascending carry(%s0 : !tile.val<[r], f32>) {
    ^bb0(%sc: !tile.val<[r], f32>):
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      %x = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %y, %next = tile.scan linear ascending %x plus %x : !tile.val<[r, c], f32> carry %sc
          : !tile.val<[r, c], f32>, !tile.val<[r], f32>
      tile.yield %next : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %S : !tile.val<[r], f32> -> !tile.buffer<[b, hq, ks, r], f32>
  }
}
