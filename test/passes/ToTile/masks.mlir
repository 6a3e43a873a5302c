// RUN: pe-opt %s --split-input-file --pe-prepare --pe-to-tile | FileCheck %s
// RUN: pe-opt %examples/sliding_window.mlir --pe-prepare --pe-to-tile | FileCheck %s --check-prefix=WINDOW
// RUN: pe-opt %examples/rope_bidirectional.mlir --pe-prepare --pe-to-tile | FileCheck %s --check-prefix=ALL

// A range of i - j is a band.
// WINDOW: %[[PAIRS:.*]] = tile.pairs band(left = 128, right = 1)
// WINDOW: tile.stage @attention_forward {{.*}} pairs %[[PAIRS]]
// ALL: tile.pairs{{ *}}
// ALL-NOT: band

// A mask from data becomes bounds per row from a prepare stage: here of the last column only.
// CHECK-LABEL: tile.plan @prefix
// CHECK:       %[[PREFIX:.*]] = tile.buffer "prefix"  argument : <[b], i32>
// CHECK:       %[[LOW:.*]] = tile.buffer "prefix_low_columns"  temporary : <[b, r], i32>
// CHECK:       %[[HIGH:.*]] = tile.buffer "prefix_high_columns"  temporary : <[b, r], i32>
// CHECK:       tile.stage @prefix_columns  prepare over ["b"]
// CHECK:         tile.read %[[PREFIX]]
// CHECK:         tile.write %{{.*}}, %[[LOW]]
// CHECK:         tile.write %{{.*}}, %[[HIGH]]
// CHECK:       %[[PAIRS:.*]] = tile.pairs columns(%[[LOW]], %[[HIGH]] : !tile.buffer<[b, r], i32>, !tile.buffer<[b, r], i32>)
// CHECK:       tile.stage @prefix_forward {{.*}} pairs %[[PAIRS]]
!t = tensor<?x?x?x?xf32>
func.func @prefix(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                  %n: tensor<?xi32> {pe.name = "prefix", pe.axes = ["batch"]}) -> (!t {pe.name = "o"}) {
  %m = pe.mask_fn(%n : tensor<?xi32>) expr "j <= i or j < n[b]"
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

// Both: the band of the window, and bounds inside it.
// CHECK-LABEL: tile.plan @both
// CHECK:       tile.pairs band(left = 40) columns(
!t = tensor<?x?x?x?xf32>
func.func @both(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                %n: tensor<?xi32> {pe.name = "prefix", pe.axes = ["batch"]}) -> (!t {pe.name = "o"}) {
  %p = pe.mask_fn(%n : tensor<?xi32>) expr "j <= i or j < n[b]"
  %w = pe.sliding_window {left = 40}
  %m = pe.mask_and %p, %w
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}
