// RUN: pe-opt %s --pe-tile-to-loops="block-rows=2 block-columns=3" --canonicalize --cse | FileCheck %s
// RUN: pe-opt %s --pe-tile-to-loops="block-rows=2 block-columns=3" --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefix=ROWS
// RUN: pe-opt %s --pe-tile-to-loops="block-rows=2 block-columns=3 owner=columns" --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefix=COLUMNS
// RUN: pe-opt %examples/prefix_lm.mlir --pe-prepare --pe-expand-masks --pe-to-tile --pe-tile-to-loops \
// RUN:   | FileCheck %s --check-prefix=BOUNDS
// The structure of lowered stages; test/conformance and ExecutionTest.cpp execute the loops.

// A stage of loops becomes one function with one work item per head; reads are clamped.
// CHECK-LABEL: func.func @loops_table
// CHECK-SAME:    (%[[SLOPES:.*]]: memref<1xf32>, %[[TABLE:.*]]: memref<1xf32>, %{{.*}}: memref<8xi64>,
// CHECK-SAME:    %[[H:.*]]: index)
// CHECK:         %[[VIEW:.*]] = memref.reinterpret_cast %[[SLOPES]]
// CHECK:         scf.for %[[T:.*]] =
// CHECK:           arith.minsi %[[H]]
// CHECK:           memref.load %[[VIEW]]
// CHECK:           memref.store %{{.*}}, %{{.*}}[%[[H]], %[[T]]]

// CHECK-LABEL: tile.plan @loops
// CHECK-SAME:    key_block = 3
// Carries and folds of a stream become buffers of the plan.
// The forward stage only reads the table, which the table's stage writes.
// CHECK:         %[[TABLE:[0-9]+]] = tile.buffer "table"
// CHECK:         tile.launch @loops_table prepare items "hq"(%{{[0-9]+}}, %[[TABLE]]) {writes = array<i64: 1>}
// CHECK:         tile.launch @loops_blocks prepare items "(ceildiv(ceildiv(c,3), 2))*(r+1)"
// CHECK:         %[[CARRY:[0-9]+]] = tile.buffer {{.*}} temporary : <[b, hq, r], f32>
// CHECK:         %[[FOLD:[0-9]+]] = tile.buffer {{.*}} temporary : <[b, hq, c], f32>
// CHECK:         tile.launch @loops_forward forward items "b*hq"(%[[TABLE]], {{.*}}, %[[CARRY]], %[[FOLD]])
// CHECK-SAME:      {writes = array<i64: 1, 2, 3, 4, 5>}

// Stages with pairs read the bounds of rows through tile.pairs.
// BOUNDS: %[[LOW:[0-9]+]] = tile.buffer {{.*}} temporary : <[b, r], i32>
// BOUNDS: %[[HIGH:[0-9]+]] = tile.buffer {{.*}} temporary : <[b, r], i32>
// BOUNDS: tile.launch {{.*}} prepare {{.*}}(%{{[0-9]+}}, %[[LOW]], %[[HIGH]]) {writes = array<i64: 1, 2>}
// BOUNDS: tile.launch @attention_attention_forward {{.*}}(%{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}, %[[LOW]], %[[HIGH]],
// BOUNDS-SAME: {writes = array<i64: {{[^34]+}}>}
tile.plan @loops attributes {head_dim = 8 : i64, value_dim = 4 : i64} {
  %S = tile.buffer "slopes" argument : !tile.buffer<[hq], f32>
  %T = tile.buffer "table" temporary : !tile.buffer<[hq, t], f32>
  %L = tile.buffer "rows" result : !tile.buffer<[b, hq, r], f32>
  %M = tile.buffer "snapshots" residual : !tile.buffer<[b, hq, kb, r], f32>
  %C = tile.buffer "columns" result : !tile.buffer<[b, hq, c], f32>
  tile.stage @table prepare over ["hq"] {
    tile.foreach over ["r + c - 1"] {
    ^bb0(%h: index, %t: index):
      %x = tile.read %S[%h] : !tile.buffer<[hq], f32> -> f32
      tile.write %x, %T[%h, %t] : f32 -> !tile.buffer<[hq, t], f32>
    }
  }
  tile.stage @blocks prepare over ["ceildiv(kb, 2)", "r+1"] {
  }
  %pairs = tile.pairs band(right = 1)
  tile.stage @forward forward over ["b", "hq"] pairs %pairs {
    %x0 = tile.constant 0.0 : !tile.val<[r], f32>
    %x, %y = tile.stream ascending carry(%x0 : !tile.val<[r], f32>) {
    ^bb0(%xc: !tile.val<[r], f32>):
      tile.store %xc, %M : !tile.val<[r], f32> -> !tile.buffer<[b, hq, kb, r], f32>
      %w = tile.window %T : !tile.buffer<[hq, t], f32> -> !tile.val<[r, c], f32>
      %s = tile.reduce add over c %w : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      %z = tile.reduce add over r %w : !tile.val<[r, c], f32> -> !tile.val<[c], f32>
      tile.yield %s, %z : !tile.val<[r], f32>, !tile.val<[c], f32>
    } : !tile.val<[r], f32>, !tile.val<[c], f32>
    tile.store %x, %L : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
    tile.store %y, %C : !tile.val<[c], f32> -> !tile.buffer<[b, hq, c], f32>
  }
}

// The loop over blocks of keys (3) is outside or inside the loop over blocks of rows (2).
// ROWS-LABEL:    func.func @loops_forward
// ROWS:            %[[ROW_BLOCKS:.*]] = arith.divsi %{{.*}}, %c2
// ROWS:            scf.for %{{.*}} to %[[ROW_BLOCKS]]
// ROWS:            scf.for %[[R:.*]] = %c0 to %[[ROW_BLOCKS]]
// ROWS-NEXT:         arith.muli %[[R]], %c2
// ROWS:              scf.for %[[C:.*]] = %c0
// ROWS-NEXT:           arith.muli %[[C]], %c3
// COLUMNS-LABEL: func.func @loops_forward
// COLUMNS:         %[[KEY_BLOCKS:.*]] = arith.divsi %{{.*}}, %c3
// COLUMNS:         %[[ROW_BLOCKS:.*]] = arith.divsi %{{.*}}, %c2
// COLUMNS:         scf.for %{{.*}} to %[[ROW_BLOCKS]]
// COLUMNS:         scf.for %{{.*}} to %[[KEY_BLOCKS]]
// COLUMNS:         scf.for %{{.*}} to %[[KEY_BLOCKS]]
// COLUMNS-NEXT:      arith.muli %{{.*}}, %c3
// COLUMNS-NEXT:      arith.subi
// COLUMNS-NEXT:      arith.minsi
// COLUMNS-NEXT:      scf.for %[[R:.*]] = %c0 to %[[ROW_BLOCKS]]
// COLUMNS-NEXT:        arith.muli %[[R]], %c2
