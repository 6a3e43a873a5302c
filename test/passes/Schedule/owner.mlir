// RUN: pe-opt %s --pe-schedule-cpu | FileCheck %s --check-prefix=CPU
// RUN: pe-opt %s --pe-schedule-gpu | FileCheck %s --check-prefix=GPU
// RUN: pe-opt %s --pe-schedule-cpu --pe-tile-to-loops | FileCheck %s --check-prefix=LOOPS

// The side that owns the loops of a stream. On a CPU it is columns if something is summed over
// rows, in a fold or in place; row carries are kept in memory. On a GPU row carries are in
// registers, so it is rows unless columns are folded and nothing is carried.
// CPU: tile.stage @rows_only
// CPU-SAME: owner = rows
// CPU: tile.stage @column_fold
// CPU-SAME: owner = columns
// CPU: tile.stage @carry_and_fold
// CPU-SAME: owner = columns
// CPU: tile.stage @in_place
// CPU-SAME: owner = columns
// GPU: tile.stage @rows_only
// GPU-SAME: owner = rows
// GPU: tile.stage @column_fold
// GPU-SAME: owner = columns
// GPU: tile.stage @carry_and_fold
// GPU-SAME: owner = rows
// GPU: tile.stage @in_place
// GPU-SAME: owner = rows

// The loops read the same field: the outer of the two block loops is over all keys.
// LOOPS-LABEL: func.func @f_column_fold
tile.plan @f attributes {head_dim = 16 : i64, value_dim = 16 : i64} {
  %Q = tile.buffer "q" argument : <[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : <[b, hkv, c, d], f32>
  %DQ = tile.buffer "d_q" gradient : <[b, hq, r, d], f32>
  %DK = tile.buffer "d_k" gradient : <[b, hkv, c, d], f32>
  %M = tile.buffer "m" result : <[b, hq, r], f32>
  %T = tile.buffer "t" temporary : <[b, hq, t], f32>
  tile.stage @rows_only backward over ["b", "hkv"] {
    %q = tile.load %Q : <[b, hq, r, d], f32> -> <[r, d], f32>
    %dq = tile.stream any {
      %k = tile.load %K : <[b, hkv, c, d], f32> -> <[c, d], f32>
      %s = tile.dot %q, %k over d : <[r, d], f32>, <[c, d], f32> -> <[r, c], f32>
      %x = tile.dot %s, %k over c : <[r, c], f32>, <[c, d], f32> -> <[r, d], f32>
      tile.yield %x : !tile.val<[r, d], f32>
    } : !tile.val<[r, d], f32>
    tile.store %dq, %DQ : <[r, d], f32> -> <[b, hq, r, d], f32>
  }
  tile.stage @column_fold backward over ["b", "hkv"] {
    %q = tile.load %Q : <[b, hq, r, d], f32> -> <[r, d], f32>
    %dk = tile.stream any {
      %k = tile.load %K : <[b, hkv, c, d], f32> -> <[c, d], f32>
      %s = tile.dot %q, %k over d : <[r, d], f32>, <[c, d], f32> -> <[r, c], f32>
      %x = tile.dot %s, %q over r : <[r, c], f32>, <[r, d], f32> -> <[c, d], f32>
      tile.yield %x : !tile.val<[c, d], f32>
    } : !tile.val<[c, d], f32>
    tile.store %dk, %DK : <[c, d], f32> -> <[b, hkv, c, d], f32>
  }
  tile.stage @carry_and_fold backward over ["b", "hkv"] {
    %q = tile.load %Q : <[b, hq, r, d], f32> -> <[r, d], f32>
    %one = tile.constant 1.0 : <[r], f32>
    %m, %dk = tile.stream ascending carry(%one : !tile.val<[r], f32>) {
    ^bb0(%before: !tile.val<[r], f32>):
      %k = tile.load %K : <[b, hkv, c, d], f32> -> <[c, d], f32>
      %s = tile.dot %q, %k over d : <[r, d], f32>, <[c, d], f32> -> <[r, c], f32>
      %y, %after = tile.scan mul ascending %s carry %before : <[r, c], f32>, <[r], f32>
      %x = tile.dot %y, %q over r : <[r, c], f32>, <[r, d], f32> -> <[c, d], f32>
      tile.yield %after, %x : !tile.val<[r], f32>, !tile.val<[c, d], f32>
    } : !tile.val<[r], f32>, !tile.val<[c, d], f32>
    tile.store %m, %M : <[r], f32> -> <[b, hq, r], f32>
    tile.store %dk, %DK : <[c, d], f32> -> <[b, hkv, c, d], f32>
  }
  tile.stage @in_place backward over ["b", "hkv"] {
    %q = tile.load %Q : <[b, hq, r, d], f32> -> <[r, d], f32>
    tile.stream any {
      %k = tile.load %K : <[b, hkv, c, d], f32> -> <[c, d], f32>
      %s = tile.dot %q, %k over d : <[r, d], f32>, <[c, d], f32> -> <[r, c], f32>
      tile.window_grad %s, %T : <[r, c], f32> -> <[b, hq, t], f32>
      tile.yield
    }
  }
}
