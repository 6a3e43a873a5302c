// RUN: pe-opt %s | pe-opt | FileCheck %s
// RUN: pe-opt %s --mlir-print-op-generic | pe-opt | FileCheck %s

// Absent fields have their defaults, and all fields are printed in the order of the table.
// CHECK:      tile.stage @cpu {{.*}} schedule #step.cpu<owner = columns, along = rows, lanes = 16, query_vectors = 2,
// CHECK-SAME: key_rows = 8, depth_rows = 4, column_rows = 4, column_vectors = 2, sweep_keys = 4, unroll = 4,
// CHECK-SAME: query_block = 96, key_block = 32, part_rows = 512, most_parts = 8, split_below = 16, exp2 = scalef,
// CHECK-SAME: by = fma> {
// CHECK:      tile.stage @gpu {{.*}} schedule #step.gpu<owner = rows, warps = 4, owner_tiles = 1, inner_block = 64,
// CHECK-SAME: ahead = 0, slots = 2, late_slots = 2> {
// CHECK:      tile.stage @loops {{.*}} schedule #step.loops<lanes = 32, group = 8> {
// CHECK:      tile.stage @none forward over ["b"] {
tile.plan @f attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  tile.stage @cpu forward over ["b", "hkv"] schedule
      #step.cpu<exp2 = scalef, owner = columns, lanes = 16, key_block = 32, key_rows = 8> {
  }
  tile.stage @gpu forward over ["b", "hq"] schedule #step.gpu<owner = rows> {
  }
  tile.stage @loops forward over ["b"] schedule #step.loops<lanes = 32, group = 8> {
  }
  tile.stage @none forward over ["b"] {
  }
}
