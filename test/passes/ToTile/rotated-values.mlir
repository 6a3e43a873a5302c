// Values are rotated before the kernel, and its output after it; the cotangent of the output is rotated before the
// backward kernel, and the gradient of the values after it. The kernel's output is kept in f32.
// RUN: pe-opt %examples/rope_values.mlir --pe-prepare --pe-expand-masks \
// RUN:   --pe-to-tile="grad=1 head-dim=32 value-dim=16 dtype=bf16" | FileCheck %s
// CHECK-DAG:  %[[O:[0-9]+]] = tile.buffer "o" result
// CHECK-DAG:  %[[DO:[0-9]+]] = tile.buffer "d_o" cotangent
// CHECK-DAG:  %[[DV:[0-9]+]] = tile.buffer "d_v"
// CHECK:      tile.stage @attention_values_rotate_keys prepare over ["b", "hkv"]
// CHECK:      tile.write {{.*}}, %[[V:[0-9]+]][
// CHECK:      %[[OWN:[0-9]+]] = tile.buffer "attention_values_output" residual : <[b, hq, r, e], f32>
// CHECK:      tile.stage @attention_forward forward
// CHECK:      tile.load %[[V]] :
// CHECK:      tile.store {{.*}}, %[[OWN]] :
// CHECK:      tile.stage @attention_values_rotate_output forward over ["b", "hq"]
// CHECK:      tile.read %[[OWN]][
// CHECK:      tile.write {{.*}}, %[[O]][
// CHECK:      tile.stage @attention_values_rotate_cotangent backward over ["b", "hq"]
// CHECK:      tile.read %[[DO]][
// CHECK:      tile.write {{.*}}, %[[OWND:[0-9]+]][
// CHECK:      tile.stage @attention_backward backward
// CHECK:      tile.load %[[OWND]] :
// CHECK:      tile.stage @attention_values_rotate_back finish over ["b", "hkv"]
// CHECK:      tile.write {{.*}}, %[[DV]][

// Positions by axis: few rows evaluate their angles, many rows combine those of two digits.
// RUN: pe-opt %examples/mrope.mlir --pe-prepare --pe-expand-masks --pe-to-tile="head-dim=32" \
// RUN:   | FileCheck %s --check-prefix=AXES
// AXES:      tile.require "r" at_least "c" of "queries, as many as keys because 'positions' holds the positions of both
// AXES:      tile.require "c" at_least "r" of "keys, as many as queries because 'positions' holds the positions of both
// AXES:      tile.require_values "positions" from "0" to "1073741823"
// AXES:      tile.buffer "positions" argument {{.*}}: <[3, b, r], i32>
// AXES:      tile.stage @attention_query_rotation_tables_few prepare over ["b"] when "64 + 1 - r"
// AXES:      arith.select
// AXES:      math.cos
// AXES:      tile.stage @attention_query_rotation_digits prepare over [] when "r - 64"
// AXES:      tile.stage @attention_query_rotation_tables prepare over ["b"] when "r - 64"
// AXES:      arith.remui
// AXES:      scf.if
// AXES:      math.cos
