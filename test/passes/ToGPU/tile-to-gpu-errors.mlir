// The reasons for which a stage has no fragment kernel, one stage each.
//
// RUN: split-file %s %t
// RUN: not pe-opt %t/depth.mlir --pe-schedule-gpu --pe-tile-to-gpu 2>&1 | FileCheck %s --check-prefix=DEPTH
// RUN: not pe-opt %t/form.mlir --pe-schedule-gpu --pe-tile-to-gpu 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not pe-opt %t/place.mlir --pe-schedule-gpu --pe-tile-to-gpu 2>&1 | FileCheck %s --check-prefix=PLACE
// RUN: not pe-opt %t/diagonals.mlir --pe-schedule-gpu=set=inner_block=48 --pe-split-sums --pe-tile-to-gpu 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BLOCKS
// RUN: not pe-opt %examples/nope.mlir --pe-prepare --pe-structure-pipeline --pe-to-tile="dtype=bf16 widen=true" \
// RUN:   --pe-schedule-gpu --pe-tile-to-gpu 2>&1 | FileCheck %s --check-prefix=WIDEN
// WIDEN: error: no GPU kernel can compute this: expected values of the buffer's element type
// RUN: not pe-opt %t/columns.mlir --pe-schedule-gpu --pe-tile-to-gpu 2>&1 | FileCheck %s --check-prefix=COLUMNS
// RUN: not pe-opt %examples/nope.mlir --pe-to-tile-pipeline=grad=1 --pe-schedule-gpu --pe-tile-to-gpu 2>&1 \
// RUN:   | FileCheck %s --check-prefix=HOIST
// HOIST: nope.mlir:{{[0-9:]+}} error: 'tile.reduce' op expected no reduction over the depths of rows before a stream
// HOIST-SAME: that columns own; run pe-hoist-row-values first

// DEPTH: error: no GPU kernel can compute this: expected head and value dims to be multiples of 8 from 8 to 256,
// DEPTH-SAME: found 12
//--- depth.mlir
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 12 : i64} {
  %L = tile.buffer "l" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    %s = tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      %z = tile.reduce add over c %x : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %z : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %L : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}
// FORM: error: no GPU kernel can compute this: 'tile.size' has no GPU form
//--- form.mlir
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %L = tile.buffer "l" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @s forward over ["b", "hq"] {
    %n = tile.size "c" : index
    %s = tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      %z = tile.reduce add over c %x : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %z : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %s, %L : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}
// PLACE: error: no GPU kernel can compute this: the gradient of a tensor is accumulated at indices that depend on both
// PLACE-SAME: the query and the key, several pairs may share an element, and the tensor is not known to have at
// PLACE-SAME: most 1024 elements per head; read it only where every pair has its own element, as in
// PLACE-SAME: select(i - j < 64, x[b, h, i, min(i - j, 63)], 0), or use --target=cpu
//--- place.mlir
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %T = tile.buffer "t" temporary {zero} : !tile.buffer<[b, hq, 2048], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      %b0 = tile.index "b" : !tile.val<[], index>
      %h0 = tile.index "hq" : !tile.val<[], index>
      %j0 = tile.position "c" : !tile.val<[c], index>
      tile.map(%x, %b0, %h0, %j0) : (!tile.val<[r, c], f32>, !tile.val<[], index>, !tile.val<[], index>,
          !tile.val<[c], index>) -> () {
      ^bb0(%a: f32, %b: index, %h: index, %j: index):
        tile.accumulate %a, %T[%b, %h, %j] : f32 -> !tile.buffer<[b, hq, 2048], f32>
        tile.yield
      }
      tile.yield
    }
  }
}
// BLOCKS: error: no GPU kernel can compute this: sums along diagonals require an owner block that is a multiple of the
// BLOCKS-SAME: inner block, and at least one thread per inner row
//--- diagonals.mlir
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %T = tile.buffer "t" temporary {zero} : !tile.buffer<[b, hq, t], f32>
  tile.stage @s forward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      tile.window_grad %x, %T : !tile.val<[r, c], f32> -> !tile.buffer<[b, hq, t], f32>
      tile.yield
    }
  }
}
// COLUMNS: error: no GPU kernel can compute this: columns can own only a stage over hkv
//--- columns.mlir
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %L = tile.buffer "l" result : !tile.buffer<[b, hq, c], f32>
  tile.stage @s forward over ["b", "hq"] {
    %s = tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      %z = tile.reduce add over r %x : !tile.val<[r, c], f32> -> !tile.val<[c], f32>
      tile.yield %z : !tile.val<[c], f32>
    } : !tile.val<[c], f32>
    tile.store %s, %L : !tile.val<[c], f32> -> !tile.buffer<[b, hq, c], f32>
  }
}
