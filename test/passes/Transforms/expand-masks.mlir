// RUN: pe-opt %s --split-input-file --pe-expand-masks --verify-roundtrip | FileCheck %s

!t = tensor<?x?x?x?xf32>

// A range of i - j becomes bounds, and other intervals stay masks.
// CHECK-LABEL: func.func @intervals
// CHECK-NOT:     pe.causal
// CHECK:         %[[LENGTH:.*]] = pe.mask_fn(%{{.*}} : tensor<?xi32>) {
// CHECK-NOT:     pe.mask_and
// CHECK:         %[[MASK:.*]] = pe.mask_parts intervals(%[[LENGTH]]) {min = 0 : i64}
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
// CHECK:         %[[FN:.*]] = pe.mask_fn(%[[A]], %[[B]] : tensor<?x?xi32>, tensor<?x?xi32>) {
// CHECK:           arith.cmpi eq
// CHECK:           arith.cmpi ne
// CHECK:           arith.andi
// CHECK:         %[[MASK:.*]] = pe.mask_parts code(%[[FN]]) {blocks, max = 39 : i64}
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
// CHECK:         pe.mask_parts code(%{{[0-9]*}}){{$}}
func.func @documents(%q: !t, %k: !t, %v: !t, %cu: tensor<?xi32>) -> !t {
  %m = pe.documents %cu : tensor<?xi32>
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>

// Bounds that depend on the head: a window, half of the heads without a causal mask.
// CHECK-LABEL: func.func @per_head
// CHECK:         %[[WINDOW:.*]] = pe.mask_fn(%{{.*}} : tensor<?xi32>) {
// CHECK:         %[[SOME:.*]] = pe.mask_fn {
// CHECK:         pe.mask_parts intervals(%[[WINDOW]], %[[SOME]]) {per_head}
func.func @per_head(%q: !t, %k: !t, %v: !t, %w: tensor<?xi32>) -> !t {
  %window = pe.mask_fn(%w : tensor<?xi32>) expr "i - j < w[h]"
  %some = pe.mask_fn expr "h % 2 == 0 or j <= i"
  %m = pe.mask_and %window, %some
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>

// Code that implies an interval of keys, for the row and for its head.
// CHECK-LABEL: func.func @code_bounds
// CHECK:         pe.mask_parts code(%{{[0-9]*}}) {blocks, code_bounds}
// CHECK:         pe.mask_parts code(%{{[0-9]*}}) {blocks, code_bounds, per_head}
func.func @code_bounds(%q: !t, %k: !t, %v: !t, %n: tensor<?xi32>, %w: tensor<?xi32>) -> (!t, !t) {
  %row = pe.mask_fn(%n : tensor<?xi32>) expr "j < n[b] and (i - j) % 3 == 0"
  %0 = pe.attention %q, %k, %v mask(%row) : (!t, !t, !t) -> !t
  %head = pe.mask_fn(%w : tensor<?xi32>) expr "i - j < w[h] and (i - j) % 3 == 0"
  %1 = pe.attention %q, %k, %v mask(%head) : (!t, !t, !t) -> !t
  return %0, %1 : !t, !t
}

// -----

!t = tensor<?x?x?x?xf32>

// A mask in parts and an attention without a mask are unchanged.
// CHECK-LABEL: func.func @unchanged
// CHECK-NEXT:    %[[MASK:.*]] = pe.mask_parts {max = 9 : i64, min = 0 : i64}
// CHECK-NEXT:    pe.attention {{.*}} mask(%[[MASK]])
// CHECK-NEXT:    pe.attention %arg0, %arg1, %arg2 :
func.func @unchanged(%q: !t, %k: !t, %v: !t) -> (!t, !t) {
  %m = pe.mask_parts {min = 0 : i64, max = 9 : i64}
  %0 = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  %1 = pe.attention %q, %k, %v : (!t, !t, !t) -> !t
  return %0, %1 : !t, !t
}
