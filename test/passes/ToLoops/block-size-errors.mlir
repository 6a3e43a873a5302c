// RUN: not pe-opt %s --pe-tile-to-loops=block-rows=0 2>&1 | FileCheck %s
// RUN: not pe-opt %s --pe-tile-to-loops=owner=heads 2>&1 | FileCheck %s --check-prefix=OWNER
// CHECK: error: 'tile.stage' op expected blocks of at least 1 x 1, found 0 x 16
// OWNER: Cannot find option named 'heads'
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %L = tile.buffer "l" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    %x = tile.constant 1.0 : !tile.val<[r], f32>
    tile.store %x, %L : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}
