// RUN: pe-opt %s --split-input-file --pe-rescale-rarely | FileCheck %s
// RUN: pe-opt %s --split-input-file --pe-rescale-rarely=slack=2.0 | FileCheck %s --check-prefix=SLACK
// SLACK: unit 1.250000e-01 slack 2.000000e+00

// Maxima that are used in another form stay, such as those of softpick.
// RUN: sed 's|// OTHER:||' %s | pe-opt --split-input-file --pe-rescale-rarely | FileCheck %s --check-prefix=OTHER-USE
// OTHER-USE-LABEL: tile.plan @unit
// OTHER-USE-NOT: tile.rescale
// OTHER-USE: tile.plan @one
// So do those with two units.
// RUN: sed 's|0.125 : f32 // P|0.25 : f32|' %s | pe-opt --split-input-file --pe-rescale-rarely \
// RUN:   | FileCheck %s --check-prefix=OTHER-USE

// The exponent of a weight is one multiply-add, and the sums are multiplied only if a maximum rises.
// CHECK-LABEL: tile.plan @unit
// CHECK: ^bb0(%[[M:.*]]: !tile.val<[r], f32>, %[[L:.*]]: !tile.val<[r], f32>, %[[O:.*]]: !tile.val<[r, e], f32>):
// CHECK: %[[S:.*]] = tile.dot
// CHECK-NEXT: %[[X:.*]], %[[OFFSET:.*]], %[[RAISED:.*]], %[[SUMS:.*]]:2 = tile.rescale
// CHECK-SAME: %[[S]] from %[[M]](%[[O]], %[[L]])
// CHECK-SAME: unit 1.250000e-01 slack 8.000000e+00
// CHECK-NEXT: %[[P:.*]] = tile.map(%[[X]], %[[OFFSET]])
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT: %[[C:.*]] = arith.constant 1.250000e-01
// CHECK-NEXT: %[[Z:.*]] = math.fma %[[A]], %[[C]], %[[B]]
// CHECK-NEXT: math.exp2 %[[Z]]
// CHECK: %[[SUM:.*]] = tile.reduce add over c %[[P]]
// CHECK: %[[L1:.*]] = tile.map(%[[SUMS]]#1, %[[SUM]])
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT: arith.addf %[[A]], %[[B]]
// CHECK: %[[O1:.*]] = tile.dot {{.*}} init(%[[SUMS]]#0
// CHECK: tile.yield %[[RAISED]], %[[L1]], %[[O1]]
!r = !tile.val<[r], f32>
!rc = !tile.val<[r, c], f32>
!re = !tile.val<[r, e], f32>
tile.plan @unit attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], bf16>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], bf16>
  %V = tile.buffer "v" argument : !tile.buffer<[b, hkv, c, e], bf16>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r, e], f32>
  tile.stage @s forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], bf16> -> !tile.val<[r, d], bf16>
    %m0 = tile.constant -1.0e29 : !r
    %l0 = tile.constant 0.0 : !r
    %o0 = tile.constant 0.0 : !re
    %st:3 = tile.stream ascending carry(%m0, %l0, %o0 : !r, !r, !re) {
    ^bb0(%m: !r, %l: !r, %o: !re):
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], bf16> -> !tile.val<[c, d], bf16>
      %v = tile.load %V : !tile.buffer<[b, hkv, c, e], bf16> -> !tile.val<[c, e], bf16>
      %s = tile.dot %q, %k over d : !tile.val<[r, d], bf16>, !tile.val<[c, d], bf16> -> !rc
      %largest = tile.reduce max over c %s : !rc -> !r
      %m1 = tile.map(%m, %largest) : (!r, !r) -> !r {
      ^bb0(%x: f32, %y: f32):
        %z = arith.maxnumf %x, %y : f32
        tile.yield %z : f32
      }
      %alpha = tile.map(%m, %m1) : (!r, !r) -> !r {
      ^bb0(%x: f32, %y: f32):
        %c = arith.constant 0.125 : f32
        %d = arith.subf %x, %y : f32
        %z = arith.mulf %d, %c : f32
        %w = math.exp2 %z : f32
        tile.yield %w : f32
      }
      %p = tile.map(%s, %m1) : (!rc, !r) -> !rc {
      ^bb0(%x: f32, %y: f32):
        %c = arith.constant 0.125 : f32 // P
        %d = arith.subf %x, %y : f32
        %z = arith.mulf %d, %c : f32
        %w = math.exp2 %z : f32
        tile.yield %w : f32
      }
      %sum = tile.reduce add over c %p : !rc -> !r
      %l1 = tile.map(%l, %alpha, %sum) : (!r, !r, !r) -> !r {
      ^bb0(%x: f32, %y: f32, %z: f32):
        %w = arith.mulf %x, %y : f32
        %n = arith.addf %w, %z : f32
        tile.yield %n : f32
      }
      %o1 = tile.map(%o, %alpha) : (!re, !r) -> !re {
      ^bb0(%x: f32, %y: f32):
        %w = arith.mulf %y, %x : f32
        tile.yield %w : f32
      }
      // OTHER: %minus = tile.map(%m1) : (!r) -> !r {
      // OTHER: ^bb0(%x: f32):
      // OTHER:   %w = arith.negf %x : f32
      // OTHER:   tile.yield %w : f32
      // OTHER: }
      %pn = tile.map(%p) : (!rc) -> !tile.val<[r, c], bf16> {
      ^bb0(%x: f32):
        %w = arith.truncf %x : f32 to bf16
        tile.yield %w : bf16
      }
      %o2 = tile.dot %pn, %v over c init(%o1 : !re) : !tile.val<[r, c], bf16>, !tile.val<[c, e], bf16> -> !re
      tile.yield %m1, %l1, %o2 : !r, !r, !re
    } : !r, !r, !re
    tile.store %st#2, %O : !re -> !tile.buffer<[b, hq, r, e], f32>
  }
}

// -----

// Scores in units of log2 have no unit.
// CHECK-LABEL: tile.plan @one
// CHECK: tile.rescale %{{.*}} unit 1.000000e+00
// CHECK-NEXT: tile.map
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT: %[[Z:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT: math.exp2 %[[Z]]
!r = !tile.val<[r], f32>
!rc = !tile.val<[r, c], f32>
!re = !tile.val<[r, e], f32>
tile.plan @one attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], bf16>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], bf16>
  %V = tile.buffer "v" argument : !tile.buffer<[b, hkv, c, e], bf16>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r, e], f32>
  tile.stage @s forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], bf16> -> !tile.val<[r, d], bf16>
    %m0 = tile.constant -1.0e29 : !r
    %l0 = tile.constant 0.0 : !r
    %o0 = tile.constant 0.0 : !re
    %st:3 = tile.stream ascending carry(%m0, %l0, %o0 : !r, !r, !re) {
    ^bb0(%m: !r, %l: !r, %o: !re):
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], bf16> -> !tile.val<[c, d], bf16>
      %v = tile.load %V : !tile.buffer<[b, hkv, c, e], bf16> -> !tile.val<[c, e], bf16>
      %s = tile.dot %q, %k over d : !tile.val<[r, d], bf16>, !tile.val<[c, d], bf16> -> !rc
      %largest = tile.reduce max over c %s : !rc -> !r
      %m1 = tile.map(%m, %largest) : (!r, !r) -> !r {
      ^bb0(%x: f32, %y: f32):
        %z = arith.maxnumf %x, %y : f32
        tile.yield %z : f32
      }
      %alpha = tile.map(%m, %m1) : (!r, !r) -> !r {
      ^bb0(%x: f32, %y: f32):
        %z = arith.subf %x, %y : f32
        %w = math.exp2 %z : f32
        tile.yield %w : f32
      }
      %p = tile.map(%s, %m1) : (!rc, !r) -> !rc {
      ^bb0(%x: f32, %y: f32):
        %z = arith.subf %x, %y : f32
        %w = math.exp2 %z : f32
        tile.yield %w : f32
      }
      %sum = tile.reduce add over c %p : !rc -> !r
      %l1 = tile.map(%l, %alpha, %sum) : (!r, !r, !r) -> !r {
      ^bb0(%x: f32, %y: f32, %z: f32):
        %w = arith.mulf %x, %y : f32
        %n = arith.addf %w, %z : f32
        tile.yield %n : f32
      }
      %o1 = tile.map(%o, %alpha) : (!re, !r) -> !re {
      ^bb0(%x: f32, %y: f32):
        %w = arith.mulf %y, %x : f32
        tile.yield %w : f32
      }
      %pn = tile.map(%p) : (!rc) -> !tile.val<[r, c], bf16> {
      ^bb0(%x: f32):
        %w = arith.truncf %x : f32 to bf16
        tile.yield %w : bf16
      }
      %o2 = tile.dot %pn, %v over c init(%o1 : !re) : !tile.val<[r, c], bf16>, !tile.val<[c, e], bf16> -> !re
      tile.yield %m1, %l1, %o2 : !r, !r, !re
    } : !r, !r, !re
    tile.store %st#2, %O : !re -> !tile.buffer<[b, hq, r, e], f32>
  }
}

// -----

// In f32, a weight is at most 1 and a maximum rises with every larger score.
// CHECK-LABEL: tile.plan @wide
// CHECK-NOT: tile.rescale
!r = !tile.val<[r], f32>
!rc = !tile.val<[r, c], f32>
!re = !tile.val<[r, e], f32>
tile.plan @wide attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %V = tile.buffer "v" argument : !tile.buffer<[b, hkv, c, e], f32>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r, e], f32>
  tile.stage @s forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %m0 = tile.constant -1.0e29 : !r
    %l0 = tile.constant 0.0 : !r
    %o0 = tile.constant 0.0 : !re
    %st:3 = tile.stream ascending carry(%m0, %l0, %o0 : !r, !r, !re) {
    ^bb0(%m: !r, %l: !r, %o: !re):
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      %v = tile.load %V : !tile.buffer<[b, hkv, c, e], f32> -> !tile.val<[c, e], f32>
      %s = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !rc
      %largest = tile.reduce max over c %s : !rc -> !r
      %m1 = tile.map(%m, %largest) : (!r, !r) -> !r {
      ^bb0(%x: f32, %y: f32):
        %z = arith.maxnumf %x, %y : f32
        tile.yield %z : f32
      }
      %alpha = tile.map(%m, %m1) : (!r, !r) -> !r {
      ^bb0(%x: f32, %y: f32):
        %c = arith.constant 0.125 : f32
        %d = arith.subf %x, %y : f32
        %z = arith.mulf %d, %c : f32
        %w = math.exp2 %z : f32
        tile.yield %w : f32
      }
      %p = tile.map(%s, %m1) : (!rc, !r) -> !rc {
      ^bb0(%x: f32, %y: f32):
        %c = arith.constant 0.125 : f32
        %d = arith.subf %x, %y : f32
        %z = arith.mulf %d, %c : f32
        %w = math.exp2 %z : f32
        tile.yield %w : f32
      }
      %sum = tile.reduce add over c %p : !rc -> !r
      %l1 = tile.map(%l, %alpha, %sum) : (!r, !r, !r) -> !r {
      ^bb0(%x: f32, %y: f32, %z: f32):
        %w = arith.mulf %x, %y : f32
        %n = arith.addf %w, %z : f32
        tile.yield %n : f32
      }
      %o1 = tile.map(%o, %alpha) : (!re, !r) -> !re {
      ^bb0(%x: f32, %y: f32):
        %w = arith.mulf %y, %x : f32
        tile.yield %w : f32
      }
      %pn = tile.map(%p) : (!rc) -> !tile.val<[r, c], f32> {
      ^bb0(%x: f32):
        %w = arith.negf %x : f32
        tile.yield %w : f32
      }
      %o2 = tile.dot %pn, %v over c init(%o1 : !re) : !tile.val<[r, c], f32>, !tile.val<[c, e], f32> -> !re
      tile.yield %m1, %l1, %o2 : !r, !r, !re
    } : !r, !r, !re
    tile.store %st#2, %O : !re -> !tile.buffer<[b, hq, r, e], f32>
  }
}
