// RUN: pe-opt %s --split-input-file --pe-to-tile-pipeline="grad=1" | FileCheck %s
// Gradients of data that code per pair reads: whether two pairs share an element, and whether sums are the gradient.

!t = tensor<?x?x?x?xf32>

// An element per pair and no other use: the kernel adds to the gradient itself.
// CHECK-LABEL: tile.plan @matrix
// CHECK: %[[D:[0-9]+]] = tile.buffer "d_x" gradient {zero} : <[b, hq, r, c], f32>
// CHECK-NOT: tile.buffer "sums_x"
// CHECK: tile.accumulate %{{.*}}, %[[D]][{{.*}}] own :
func.func @matrix(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                  %x: !t {pe.name = "x", pe.axes = ["batch", "head", "query", "key"]}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%x : !t) expr "x[b, h, i, j]"
  %o = pe.attention %q, %k, %v bias(%b) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>

// Batches and heads share the elements: sums for each of them, added afterwards.
// CHECK-LABEL: tile.plan @shared_by_heads
// CHECK: tile.buffer "sums_x" temporary {zero} : <[r, c], f64>
// CHECK: %[[S:[0-9]+]] = tile.buffer "shared_by_heads_term0_x" temporary {zero} : <[b, hq, r, c], f32>
// CHECK: tile.accumulate %{{.*}}, %[[S]][{{.*}}] own :
func.func @shared_by_heads(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                           %x: tensor<?x?xf32> {pe.name = "x", pe.axes = ["query", "key"]}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%x : tensor<?x?xf32>) expr "x[i, j]"
  %o = pe.attention %q, %k, %v bias(%b) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>

// Two terms add to the gradient.
// CHECK-LABEL: tile.plan @two_terms
// CHECK: tile.buffer "sums_x" temporary {zero} : <[b, hq, r, c], f64>
// CHECK-COUNT-2: tile.accumulate {{.*}} own : f32 -> <[b, hq, r, c], f32>
func.func @two_terms(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                     %x: !t {pe.name = "x", pe.axes = ["batch", "head", "query", "key"]}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%x : !t) expr "x[b, h, i, j]"
  %s = pe.score_fn(%x : !t) expr "s * x[b, h, i, j]"
  %o = pe.attention %q, %k, %v bias(%b) score(%s) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>
!p = tensor<?x?x?x64xf32>

// A profile: where its element counts, the minimum is the distance.
// CHECK-LABEL: tile.plan @profile
// CHECK: %[[D:[0-9]+]] = tile.buffer "d_x" gradient {zero} : <[b, hq, r, 64], f32>
// CHECK: tile.accumulate %{{.*}}, %[[D]][{{.*}}] own :
func.func @profile(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                   %x: !p {pe.name = "x", pe.axes = ["batch", "head", "query", "back"]}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%x : !p) expr "2 * select(i - j < 64, x[b, h, i, min(i - j, 63)], -1)"
  %m = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>
!p = tensor<?x?x?x64xf32>

// The same under a window, without code for the distances that it excludes.
// CHECK-LABEL: tile.plan @window
// CHECK: tile.accumulate {{.*}} own :
func.func @window(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                  %x: !p {pe.name = "x", pe.axes = ["batch", "head", "query", "back"]}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%x : !p) expr "x[b, h, i, i - j]"
  %c = pe.causal
  %w = pe.sliding_window {left = 64}
  %m = pe.mask_and %c, %w
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>
!p = tensor<?x?x?x64xf32>

// All far pairs share the last element.
// CHECK-LABEL: tile.plan @far
// CHECK: tile.accumulate {{.*}}] : f32 -> <[b, hq, r, 64], f32>
func.func @far(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
               %x: !p {pe.name = "x", pe.axes = ["batch", "head", "query", "back"]}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%x : !p) expr "x[b, h, i, min(i - j, 63)]"
  %m = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>

// Two keys share an element.
// CHECK-LABEL: tile.plan @two_keys
// CHECK: tile.accumulate {{.*}}] : f32 -> <[b, hq, r, c], f32>
func.func @two_keys(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                    %x: !t {pe.name = "x", pe.axes = ["batch", "head", "query", "key"]}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%x : !t) expr "x[b, h, i, j - j % 2]"
  %m = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>

// Two reads of the same tensor share elements.
// CHECK-LABEL: tile.plan @two_reads
// CHECK: tile.accumulate {{.*}}] : f32 -> <[b, hq, r, c], f32>
func.func @two_reads(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                     %x: !t {pe.name = "x", pe.axes = ["batch", "head", "query", "key"]}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%x : !t) expr "x[b, h, i, j] + tanh(x[b, h, i, max(j - 1, 0)])"
  %o = pe.attention %q, %k, %v bias(%b) : (!t, !t, !t) -> !t
  return %o : !t
}
