// RUN: pe-opt %s --pe-schedule-cpu --pe-tile-to-cpu --split-input-file | FileCheck %s

// Sums of scores per row, with every part of a rows-outer kernel. An item is a block of rows, the
// last rows first. Queries are packed transposed. The code without a mask has constant bounds and
// carries accumulators over the depth; the code with a mask has variable bounds.
// CHECK-LABEL: func.func @rows_forward(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<1xf32>, %[[K:[a-z0-9]+]]: memref<1xf32>,
// CHECK-SAME:    %[[O:[a-z0-9]+]]: memref<1xf32>, %{{[a-z0-9]+}}: memref<8xi64>,
// CHECK-SAME:    %[[ITEM:[a-z0-9]+]]: index
// CHECK:         arith.remui %[[ITEM]]
// Packing.
// CHECK:         vector.shuffle {{.*}} [0, 8, 2, 10, 4, 12, 6, 14]
// Entirely inside the mask.
// CHECK:         scf.if
// CHECK:           scf.for %{{.*}} = %[[C0:.*]] to %c64
// CHECK:             %{{.*}}:[[#TILE:]] = scf.for %{{.*}} = %[[C0]] to %{{.*}} step %{{.*}} iter_args
// CHECK:               vector.load
// CHECK:               memref.load
// CHECK:               vector.broadcast
// CHECK:               vector.fma
// CHECK-NOT:         arith.select
// CHECK:         } else {
// Partly inside the mask.
// CHECK:           scf.if
// CHECK:             arith.cmpi slt, {{.*}} : vector<8xi32>
// CHECK:             %{{.*}}:[[#TILE]] = scf.for
// CHECK:               vector.fma
// CHECK:             arith.select {{.*}} : vector<8xi1>, vector<8xf32>
// CHECK:         vector.maskedstore
// CHECK:         tile.launch @rows_forward forward items "b*hq*ceildiv(r,128)"
tile.plan @rows attributes {head_dim = 32 : i64, value_dim = 32 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  %pairs = tile.pairs band(right = 1)
  tile.stage @forward forward over ["b", "hq"] pairs %pairs {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %s0 = tile.constant 0.0 : !tile.val<[r], f32>
    %s = tile.stream ascending carry(%s0 : !tile.val<[r], f32>) {
    ^bb0(%sc: !tile.val<[r], f32>):
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      %x = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %xb = tile.reduce add over c %x : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      %xn = tile.map(%sc, %xb) : (!tile.val<[r], f32>, !tile.val<[r], f32>) -> !tile.val<[r], f32> {
      ^bb0(%a: f32, %b: f32):
        %z = arith.addf %a, %b : f32
        tile.yield %z : f32
      }
      tile.yield %xn : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %O : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}

// -----

// A sum over rows: columns own the loop. An item is a part of a key head's rows if there are few
// heads, otherwise a key head. Row state is in a temporary. The second launch adds, in order, the
// sums of the parts that see the block.
// CHECK-LABEL: func.func @columns_backward(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<1xf32>, %[[K:[a-z0-9]+]]: memref<1xf32>, %[[G:[a-z0-9]+]]: memref<1xf32>,
// CHECK-SAME:    %[[ROWS:[a-z0-9]+]]: memref<1xf32>, %[[SUMS:[a-z0-9]+]]: memref<1xf32>, %{{[a-z0-9]+}}: memref<8xi64>
// CHECK-LABEL: func.func @columns_backward_sums(
// CHECK:         %[[LIST:.*]] = memref.alloca() {{.*}} : memref<{{[0-9]+}}xindex>
// CHECK:         scf.if
// CHECK:           %[[SEEING:.*]] = scf.for
// CHECK:             memref.store %{{.*}}, %[[LIST]]
// CHECK:           scf.for
// CHECK:             scf.for %{{.*}} = %{{.*}} to %[[SEEING]] step
// CHECK:               memref.load %[[LIST]]
// CHECK:               arith.addf {{.*}} : vector<8xf32>
// CHECK:       %[[STATE:[0-9]+]] = tile.buffer {{.*}} temporary : <[b, hq, "ceildiv(r,16)", 512], f32>
// CHECK:       %[[PARTS:[0-9]+]] = tile.buffer "{{.*}}" temporary : <["[[SLOTS:max\(1,min\([^"]*hkv[^"]*]]", "b*hkv",
// CHECK-SAME:  "128+min(1,[[SLOTS]]-1)*(ceildiv(c,64)*64-128)", 32], f32>
// CHECK:       tile.launch @columns_backward backward items "b*hkv*[[SLOTS]]"
// CHECK-SAME:  , %[[STATE]], %[[PARTS]])
// CHECK:       tile.launch @columns_backward_sums backward items "max(0,min(1,[[SLOTS]]-1)*b*hkv*ceildiv(c,64))"
// CHECK-SAME:  , %[[PARTS]])
tile.plan @columns attributes {head_dim = 32 : i64, value_dim = 32 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %G = tile.buffer "d_k" gradient : !tile.buffer<[b, hkv, c, d], f32>
  tile.stage @backward backward over ["b", "hkv"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
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

// A map is evaluated as rarely as its operands allow: the parameter once per strip, the terms of
// the key as scalars, and the remainder in vectors, in which positions are i32.
// CHECK-LABEL: func.func @pairs_forward(
// CHECK:         %[[A:.*]] = memref.load %{{.*}} : memref<?xf32
// CHECK:         scf.for
// CHECK:           %[[J:.*]] = arith.sitofp %{{.*}} : i32 to f32
// CHECK:           %[[AJ:.*]] = arith.mulf %{{.*}}, %[[J]] : f32
// CHECK:           %[[V:.*]] = vector.broadcast %[[AJ]] : f32 to vector<8xf32>
// CHECK:           arith.addf %{{.*}}, %[[V]] : vector<8xf32>
tile.plan @pairs attributes {head_dim = 32 : i64, value_dim = 32 : i64} {
  %A = tile.buffer "amp" argument : !tile.buffer<[hq], f32>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @forward forward over ["b", "hq"] {
    %s0 = tile.constant 0.0 : !tile.val<[r], f32>
    %s = tile.stream ascending carry(%s0 : !tile.val<[r], f32>) {
    ^bb0(%sc: !tile.val<[r], f32>):
      %hq = tile.index "hq" : !tile.val<[], index>
      %row = tile.position "r" : !tile.val<[r], index>
      %column = tile.position "c" : !tile.val<[c], index>
      %x = tile.map(%hq, %row, %column) : (!tile.val<[], index>, !tile.val<[r], index>, !tile.val<[c], index>)
          -> !tile.val<[r, c], f32> {
      ^bb0(%h: index, %i: index, %j: index):
        %a = tile.read %A[%h] : !tile.buffer<[hq], f32> -> f32
        %i32 = arith.index_cast %i : index to i32
        %j32 = arith.index_cast %j : index to i32
        %fi = arith.sitofp %i32 : i32 to f32
        %fj = arith.sitofp %j32 : i32 to f32
        %aj = arith.mulf %a, %fj : f32
        %z = arith.addf %fi, %aj : f32
        tile.yield %z : f32
      }
      %xb = tile.reduce add over c %x : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      %xn = tile.map(%sc, %xb) : (!tile.val<[r], f32>, !tile.val<[r], f32>) -> !tile.val<[r], f32> {
      ^bb0(%p: f32, %q: f32):
        %z = arith.addf %p, %q : f32
        tile.yield %z : f32
      }
      tile.yield %xn : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %O : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}

// -----

// Bounds of rows: before a part of the rows visits a block of keys, the bounds determine the strips
// that see it, and only then the part's sums are cleared. The launch that adds parts uses the same
// test. A strip whose rows all keep the entire block runs the code without a mask.
// CHECK-LABEL: func.func @bounds_backward(
// CHECK:         %[[SEEING:.*]]:2 = scf.for
// CHECK:           %[[LOW:.*]] = vector.maskedload {{.*}} vector<8xi32>
// CHECK:           arith.cmpi slt, %[[LOW]]
// CHECK:           %[[HIGH:.*]] = vector.maskedload {{.*}} vector<8xi32>
// CHECK:           arith.cmpi sgt, %[[HIGH]]
// CHECK:           vector.reduction <or>
// CHECK:         scf.if
// CHECK:           vector.store %{{.*}} : memref<?xf32>, vector<8xf32>
// CHECK:           arith.cmpi sle, {{.*}} : vector<8xi32>
// CHECK:           arith.cmpi sge, {{.*}} : vector<8xi32>
// CHECK:           vector.reduction <and>
// CHECK:           scf.if
// CHECK:           } else {
// CHECK:             vector.reduction <minsi>
// CHECK:             vector.reduction <maxsi>
// CHECK-LABEL: func.func @bounds_backward_sums(
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             vector.maskedload {{.*}} vector<8xi32>
// CHECK:           memref.store
tile.plan @bounds attributes {head_dim = 32 : i64, value_dim = 32 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %G = tile.buffer "d_k" gradient : !tile.buffer<[b, hkv, c, d], f32>
  %L = tile.buffer "low" temporary : !tile.buffer<[b, r], i32>
  %H = tile.buffer "high" temporary : !tile.buffer<[b, r], i32>
  %pairs = tile.pairs columns(%L, %H : !tile.buffer<[b, r], i32>, !tile.buffer<[b, r], i32>)
  tile.stage @backward backward over ["b", "hkv"] pairs %pairs {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %g = tile.stream any {
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      %x = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %gb = tile.dot %x, %q over r : !tile.val<[r, c], f32>, !tile.val<[r, d], f32> -> !tile.val<[c, d], f32>
      tile.yield %gb : !tile.val<[c, d], f32>
    } : !tile.val<[c, d], f32>
    tile.store %g, %G : !tile.val<[c, d], f32> -> !tile.buffer<[b, hkv, c, d], f32>
  }
}
