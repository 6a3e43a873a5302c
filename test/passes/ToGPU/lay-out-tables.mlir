// RUN: pe-opt %s --pe-lay-out-tables | FileCheck %s
// RUN: pe-opt %s --pe-lay-out-tables --pe-lay-out-tables | FileCheck %s

// One stage writes the table for both products with operands of one type, another one for f32. Entries after the
// last distance are 0.
// CHECK-LABEL: tile.plan @narrow
// CHECK: %[[TABLE:[0-9]+]] = tile.buffer "table"
// CHECK: %[[NARROW:[0-9]+]] = tile.buffer "narrow_forward_vectors0" temporary : <[hq, t, d], bf16>
// CHECK: tile.stage @forward_vectors0 forward over [] {
// CHECK-NEXT: tile.foreach over ["hq", "t", "d"] {
// CHECK-NEXT: ^bb0(%[[H:.*]]: index, %[[T:.*]]: index, %[[D:.*]]: index):
// CHECK-NEXT: %[[X:.*]] = tile.read %[[TABLE]][%[[H]], %[[D]], %[[T]]] inbounds
// CHECK: %[[END:.*]] = tile.size "r + c - 1"
// CHECK: %[[IS:.*]] = arith.cmpi slt, %[[T]], %[[END]]
// CHECK: %[[OR:.*]] = arith.select %[[IS]], %[[X]], %{{.*}}
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[OR]] : f32 to bf16
// CHECK: tile.write %[[ROUNDED]], %[[NARROW]][%[[H]], %[[T]], %[[D]]]
// CHECK: tile.buffer "narrow_forward_vectors1" temporary : <[hq, t, d], f32>
// CHECK: tile.stage @forward forward
// CHECK: tile.window_dot %{{.*}}, %[[NARROW]] : <[r, d], bf16>, <[hq, t, d], bf16>
// CHECK: tile.window_dot %{{.*}}, %{{.*}} : <[r, d], f32>, <[hq, t, d], f32>
// CHECK-NOT: tile.stage
tile.plan @narrow attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %P = tile.buffer "table" argument : !tile.buffer<[hq, d, t], f32>
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], bf16>
  %R = tile.buffer "r" argument : !tile.buffer<[b, hq, r, d], f32>
  tile.stage @forward forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], bf16> -> !tile.val<[r, d], bf16>
    %r = tile.load %R : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    tile.stream any {
      %x = tile.window_dot %q, %P : !tile.val<[r, d], bf16>, !tile.buffer<[hq, d, t], f32> -> !tile.val<[r, c], f32>
      %y = tile.window_dot %r, %P : !tile.val<[r, d], f32>, !tile.buffer<[hq, d, t], f32> -> !tile.val<[r, c], f32>
    }
  }
}
