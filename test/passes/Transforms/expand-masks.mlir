// RUN: pe-opt %s --split-input-file --pe-expand-masks | FileCheck %s

!t = tensor<?x?x?x?xf32>

// Ranges and intervals are kept; nothing changes.
// CHECK-LABEL: func.func @intervals
// CHECK:         %[[CAUSAL:.*]] = pe.causal
// CHECK-NEXT:    %[[LENGTH:.*]] = pe.mask_fn(%{{.*}} : tensor<?xi32>) {
// CHECK:         %[[MASK:.*]] = pe.mask_and %[[CAUSAL]], %[[LENGTH]]
// CHECK-NEXT:    pe.attention {{.*}} mask(%[[MASK]])
func.func @intervals(%q: !t, %k: !t, %v: !t, %n: tensor<?xi32>) -> !t {
  %causal = pe.causal
  %length = pe.mask_fn(%n : tensor<?xi32>) expr "j < n[b]"
  %m = pe.mask_and %causal, %length
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>

// One function for all masks that are not intervals, and the range that they are known to keep.
// CHECK-LABEL: func.func @pairs
// CHECK-SAME:    %[[A:[a-z0-9]*]]: tensor<?x?xi32>, %[[B:[a-z0-9]*]]: tensor<?x?xi32>
// CHECK:         %[[WINDOW:.*]] = pe.sliding_window {left = 40 : i64}
// CHECK:         %[[FN:.*]] = pe.mask_fn(%[[A]], %[[B]] : tensor<?x?xi32>, tensor<?x?xi32>) {
// CHECK:           arith.cmpi eq
// CHECK:           arith.cmpi ne
// CHECK:           arith.andi
// CHECK:         %[[MASK:.*]] = pe.mask_and %[[WINDOW]], %[[FN]]
// CHECK-NEXT:    pe.attention {{.*}} mask(%[[MASK]])
func.func @pairs(%q: !t, %k: !t, %v: !t, %a: tensor<?x?xi32>, %b0: tensor<?x?xi32>) -> !t {
  %x = pe.mask_fn(%a : tensor<?x?xi32>) expr "a[b, i] == a[b, j]"
  %y = pe.mask_fn(%b0 : tensor<?x?xi32>) expr "b0[b, i] != b0[b, j]"
  %w = pe.sliding_window {left = 40}
  %xy = pe.mask_and %x, %y
  %m = pe.mask_and %w, %xy
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>

// The mask of documents without pe-place-positions: the same number of boundaries precedes both.
// CHECK-LABEL: func.func @documents
// CHECK:         pe.mask_fn(%{{.*}} : tensor<?xi32>) {
// CHECK-COUNT-2: pe.sum
// CHECK:           arith.cmpf oeq
// CHECK:           pe.yield %{{.*}} : i1
func.func @documents(%q: !t, %k: !t, %v: !t, %cu: tensor<?xi32>) -> !t {
  %m = pe.documents %cu : tensor<?xi32>
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}
