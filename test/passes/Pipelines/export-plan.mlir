// RUN: pe-opt %s --pe-export-plan | FileCheck %s
// Extents become size expressions, declared sizes and parameters become words of the frame, stages
// refer to buffers by index, and functions are marked.
// CHECK:      pe.plan = "{
// CHECK-SAME: (r+capacity+31)
// CHECK-SAME: \22frame\22: {{.*}}\22parameter\22,{{.*}}\22shift\22,{{.*}}\22m - 1\22
// CHECK-SAME: b*hq*ceildiv(r,96)
// CHECK:      func.func @forward{{.*}} attributes {pe.stage}
// CHECK-NOT:  tile.plan
func.func @forward(%q: memref<1xf32>, %t: memref<1xf32>, %sizes: memref<9xi64>, %item: index) {
  return
}
tile.plan @attention attributes {head_dim = 64, value_dim = 64, distance_padding = 31} {
  tile.extent "m"
  tile.parameter "shift" default "m - 1"
  %q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %t = tile.buffer "table" temporary : !tile.buffer<[hq, t], f32>
  tile.launch @forward forward items "b*hq*ceildiv(r,96)" (%q, %t)
      : !tile.buffer<[b, hq, r, d], f32>, !tile.buffer<[hq, t], f32>
}
