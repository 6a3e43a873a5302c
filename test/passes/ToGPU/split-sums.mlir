// RUN: pe-opt %s --pe-split-sums | FileCheck %s
// RUN: pe-opt %s --pe-split-sums --pe-split-sums | FileCheck %s

// Every CTA that owns 64 columns has its own element of %h and of each of the four elements of %n; a table of
// distances has as many slots, at most 256. The third index of a sum in a map is the slot.
// CHECK-LABEL: tile.plan @columns
// CHECK: %[[H:[a-z0-9]+]] = tile.buffer "columns_backward_slots0" temporary slots <c by 64> {zero}
// CHECK-SAME: <[b, hq, "ceildiv(c,64)"], f32>
// CHECK: %[[N:[a-z0-9]+]] = tile.buffer "columns_backward_slots1" temporary slots <c by 64> {zero}
// CHECK-SAME: <[b, hq, "ceildiv(c,64)", 4], f32>
// CHECK: %[[T:[a-z0-9]+]] = tile.buffer "columns_backward_slots2" temporary slots <c by 64> {zero}
// CHECK-SAME: <[b, hq, "min(ceildiv(c,64),256)", t], f32>
// CHECK: tile.stage @backward backward
// CHECK: %[[COLUMN:.*]] = tile.index "c"
// CHECK: tile.map(%{{.*}}, %{{.*}}, %{{.*}}, %[[COLUMN]])
// CHECK: ^bb0(%{{.*}}: f32, %[[B:.*]]: index, %[[HEAD:.*]]: index, %[[C:.*]]: index):
// CHECK: %[[SIZE:.*]] = arith.constant 64 : index
// CHECK: %[[SLOT:.*]] = arith.divui %[[C]], %[[SIZE]] : index
// CHECK: tile.accumulate %{{.*}}, %[[H]][%[[B]], %[[HEAD]], %[[SLOT]]]
// CHECK: tile.accumulate %{{.*}}, %[[N]][%[[B]], %[[HEAD]], %{{.*}}, %{{.*}}]
// CHECK: tile.window_grad %{{.*}}, %[[T]]
// CHECK: tile.stage @backward_slots2 backward over [] {
// CHECK-NEXT: tile.foreach over ["b", "hq", "min(ceildiv(c,64),256)", "t"] {
// CHECK-NEXT: ^bb0(%[[B:.*]]: index, %[[HEAD:.*]]: index, %[[SLOT:.*]]: index, %[[DISTANCE:.*]]: index):
// CHECK-NEXT: %[[PART:.*]] = tile.read %[[T]][%[[B]], %[[HEAD]], %[[SLOT]], %[[DISTANCE]]] inbounds
// CHECK-NEXT: tile.accumulate %[[PART]], %{{.*}}[%[[B]], %[[HEAD]], %[[DISTANCE]]]
// CHECK: tile.stage @backward_slots1 backward over [] {
// CHECK-NEXT: tile.foreach over ["b", "hq", "ceildiv(c,64)", "4"] {
// CHECK: tile.stage @backward_slots0 backward over [] {
// CHECK-NOT: tile.stage
tile.plan @columns attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %H = tile.buffer "of_head" temporary {zero} : !tile.buffer<[b, hq], f64>
  %N = tile.buffer "of_four" temporary {zero} : !tile.buffer<[b, hq, 4], f32>
  %T = tile.buffer "of_distance" temporary {zero} : !tile.buffer<[b, hq, t], f32>
  tile.stage @backward backward over ["b", "hkv"] schedule #step.gpu<owner = columns> {
    %b = tile.index "b" : !tile.val<[], index>
    %h = tile.index "hq" : !tile.val<[], index>
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      tile.map(%x, %b, %h) : (!tile.val<[r, c], f32>, !tile.val<[], index>, !tile.val<[], index>) -> () {
      ^bb0(%e: f32, %at: index, %head: index):
        %two = arith.constant 2 : index
        tile.accumulate %e, %H[%at, %head] : f32 -> !tile.buffer<[b, hq], f64>
        tile.accumulate %e, %N[%at, %head, %two] : f32 -> !tile.buffer<[b, hq, 4], f32>
        tile.yield
      }
      tile.window_grad %x, %T : !tile.val<[r, c], f32> -> !tile.buffer<[b, hq, t], f32>
    }
  }
}

// Without a schedule for GPUs, and for sums that belong to a row, nothing changes.
// CHECK-LABEL: tile.plan @rows
// CHECK-NOT: slots <
// CHECK: tile.accumulate %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] : f32 -> <[b, hq, r], f32>
// CHECK: tile.stage @unscheduled
// CHECK: tile.window_grad %{{.*}}, %{{.*}} : <[r, c], f32> -> <[b, hq, t], f32>
// CHECK-NOT: tile.stage
tile.plan @rows attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %R = tile.buffer "of_row" temporary {zero} : !tile.buffer<[b, hq, r], f32>
  %T = tile.buffer "of_distance" temporary {zero} : !tile.buffer<[b, hq, t], f32>
  tile.stage @backward backward over ["b", "hq"] schedule #step.gpu<owner = rows> {
    %b = tile.index "b" : !tile.val<[], index>
    %h = tile.index "hq" : !tile.val<[], index>
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      %r = tile.index "r" : !tile.val<[r], index>
      tile.map(%x, %b, %h, %r) : (!tile.val<[r, c], f32>, !tile.val<[], index>, !tile.val<[], index>,
                                  !tile.val<[r], index>) -> () {
      ^bb0(%e: f32, %at: index, %head: index, %row: index):
        tile.accumulate %e, %R[%at, %head, %row] : f32 -> !tile.buffer<[b, hq, r], f32>
        tile.yield
      }
    }
  }
  tile.stage @unscheduled backward over ["b", "hq"] {
    tile.stream any {
      %x = tile.constant 1.0 : !tile.val<[r, c], f32>
      tile.window_grad %x, %T : !tile.val<[r, c], f32> -> !tile.buffer<[b, hq, t], f32>
    }
  }
}
