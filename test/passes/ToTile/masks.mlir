// RUN: pe-opt %s --split-input-file --pe-prepare --pe-expand-masks --pe-to-tile --verify-roundtrip | FileCheck %s
// RUN: pe-opt %examples/sliding_window.mlir --pe-prepare --pe-expand-masks --pe-to-tile \
// RUN:   | FileCheck %s --check-prefix=WINDOW
// RUN: pe-opt %examples/rope_bidirectional.mlir --pe-prepare --pe-expand-masks --pe-to-tile \
// RUN:   | FileCheck %s --check-prefix=ALL

// A range of i - j becomes a band.
// WINDOW: %[[PAIRS:.*]] = tile.pairs band(left = 128, right = 1)
// WINDOW: tile.stage @attention_forward {{.*}} pairs %[[PAIRS]]
// ALL: tile.pairs{{ *}}
// ALL-NOT: band

// A mask from data becomes bounds per row in a prepare stage, here only of the last column.
// CHECK-LABEL: tile.plan @prefix
// CHECK:       %[[PREFIX:.*]] = tile.buffer "prefix"  argument : <[b], i32>
// CHECK:       %[[LOW:[0-9]+]] = tile.buffer {{.*}} temporary : <[b, r], i32>
// CHECK:       %[[HIGH:[0-9]+]] = tile.buffer {{.*}} temporary : <[b, r], i32>
// CHECK:       tile.stage {{.*}} prepare over ["b"]
// CHECK:         tile.read %[[PREFIX]]
// CHECK:         tile.write %{{.*}}, %[[LOW]]
// CHECK:         tile.write %{{.*}}, %[[HIGH]]
// The bounds over all rows: kernels read no key outside of them.
// CHECK:       tile.stage {{.*}} prepare over ["b"]
// CHECK:         tile.write %{{.*}}, %[[REACH:[0-9]+]][
// CHECK:       tile.foreach over ["r"]
// CHECK:         tile.accumulate %{{.*}}, %[[REACH]][{{.*}}] by max
// CHECK:         tile.accumulate %{{.*}}, %[[REACH]][{{.*}}] by max
// CHECK:       %[[PAIRS:.*]] = tile.pairs columns(%[[LOW]], %[[HIGH]] : !tile.buffer<[b, r], i32>,
// CHECK-SAME:  !tile.buffer<[b, r], i32>) within(%[[REACH]] : !tile.buffer<[b, 2], i32>)
// CHECK-NOT:   states
// CHECK:       tile.stage @prefix_forward {{.*}} pairs %[[PAIRS]]
!t = tensor<?x?x?x?xf32>
func.func @prefix(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                  %n: tensor<?xi32> {pe.name = "prefix", pe.axes = ["batch"]}) -> (!t {pe.name = "o"}) {
  %m = pe.mask_fn(%n : tensor<?xi32>) expr "j <= i or j < n[b]"
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

// Both: the band of the window, and the bounds inside it.
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

// -----

// Scalar code of a mask: values that depend only on the row or only on the column are summarized per
// block, then every block of pairs gets its state; in the stream the code is a condition of the mask.
// CHECK-LABEL: tile.plan @documents
// CHECK:       tile.stage {{.*}} prepare over ["b"]
// CHECK-NEXT:    tile.foreach over ["ceildiv(r,64)"]
// CHECK:       tile.stage {{.*}} prepare over ["b"]
// CHECK-NEXT:    tile.foreach over ["ceildiv(c,64)"]
// CHECK:       %[[STATES:[0-9]+]] = tile.buffer {{.*}} temporary : <[b, "ceildiv(r,64)", "ceildiv(c,64)"], i32>
// CHECK:       tile.stage {{.*}} prepare over ["b"]
// CHECK-NEXT:    tile.foreach over ["ceildiv(r,64)", "ceildiv(c,64)"]
// CHECK:         tile.write %{{.*}}, %[[STATES]]
// CHECK:       tile.pairs band(right = 1)
// CHECK-SAME:  states(%[[STATES]] : !tile.buffer<[b, "ceildiv(r,64)", "ceildiv(c,64)"], i32>)
// CHECK:       tile.stage @documents_forward
// CHECK:         tile.map
// CHECK:           arith.cmpi eq
// CHECK:         tile.mask %{{.*}} where %{{.*}} : !tile.val<[r, c], f32> fill
!t = tensor<?x?x?x?xf32>
func.func @documents(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                     %x: tensor<?x?xi32> {pe.name = "x", pe.axes = ["batch", "query"]},
                     %y: tensor<?x?xi32> {pe.name = "y", pe.axes = ["batch", "key"]}) -> (!t {pe.name = "o"}) {
  %c = pe.causal
  %s = pe.mask_fn(%x, %y : tensor<?x?xi32>, tensor<?x?xi32>) expr "x[b, i] == y[b, j]"
  %m = pe.mask_and %c, %s
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

// Nothing depends on the batch, so all batch entries share one state. A condition of the code that
// is an interval of keys becomes bounds of every row.
// CHECK-LABEL: tile.plan @hull
// CHECK:       %[[LOW:[0-9]+]] = tile.buffer {{.*}} temporary : <[b, r], i32>
// CHECK:       %[[HIGH:[0-9]+]] = tile.buffer {{.*}} temporary : <[b, r], i32>
// CHECK:       tile.stage {{.*}} prepare over ["b"]
// CHECK:         tile.write %{{.*}}, %[[LOW]][
// CHECK:         tile.write %{{.*}}, %[[HIGH]][
// CHECK:       %[[STATES:[0-9]+]] = tile.buffer {{.*}} temporary : <["ceildiv(r,64)", "ceildiv(c,64)"], i32>
// CHECK:       tile.stage {{.*}} prepare over []
// CHECK:         tile.write %{{.*}}, %[[STATES]][
// CHECK:       tile.pairs columns(%[[LOW]], %[[HIGH]] : {{[^)]*}}) within({{[^)]*}})
// CHECK-SAME:  states(%[[STATES]] : !tile.buffer<["ceildiv(r,64)", "ceildiv(c,64)"], i32>)
!t = tensor<?x?x?x?xf32>
func.func @hull(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                %n: tensor<i32> {pe.name = "n"}) -> (!t {pe.name = "o"}) {
  %m = pe.mask_fn(%n : tensor<i32>) expr "j < n and (i // 100 + j // 100) % 2 == 0"
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

// Code that decides no block has no states.
// CHECK-LABEL: tile.plan @pairs
// CHECK-NOT:   states
// CHECK:       tile.mask %{{.*}} where
!t = tensor<?x?x?x?xf32>
func.func @pairs(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"}) -> (!t {pe.name = "o"}) {
  %m = pe.mask_fn expr "sin(i * j) > 0.5"
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

// Conditions on the column alone are evaluated once per column: no key that every row masks is read.
// CHECK-LABEL: tile.plan @columns
// CHECK:       %[[TAKEN:[0-9]+]] = tile.buffer {{.*}} temporary : <[b, c], i32>
// CHECK:       tile.stage {{.*}} prepare over ["b"]
// CHECK:         arith.cmpi ne
// CHECK-NOT:     arith.cmpi
// CHECK:         tile.write %{{.*}}, %[[TAKEN]]
// CHECK:       tile.pairs {{.*}} taken(%[[TAKEN]] : !tile.buffer<[b, c], i32>)
!t = tensor<?x?x?x?xf32>
func.func @columns(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                   %y: tensor<?x?xi32> {pe.name = "y", pe.axes = ["batch", "key"]}) -> (!t {pe.name = "o"}) {
  %m = pe.mask_fn(%y : tensor<?x?xi32>) expr "y[b, j] != 0 and (i + j) % 3 != 1"
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}
