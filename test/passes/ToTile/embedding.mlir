// RUN: pe-opt %examples/learned.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s
// RUN: pe-opt %examples/sinusoidal.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=SIN
// RUN: pe-opt %examples/algebraic_normalized.mlir --pe-to-tile-pipeline | FileCheck %s --check-prefix=POWER
// RUN: pe-opt %S/../../conformance/encodings/embeddings.mlir --pe-to-tile-pipeline | FileCheck %s --check-prefix=TABLE
// RUN: pe-opt %examples/mixture.mlir --pe-to-tile-pipeline="grad=1 dtype=bf16" | FileCheck %s --check-prefix=MIX

// An embedding of reads has no prepared table, and no index is clamped, because the call's sizes are checked.
// CHECK:       tile.plan @embed attributes {head_dim = 0 : i64, value_dim = 0 : i64}
// CHECK-NEXT:  tile.extent "model"
// CHECK-NEXT:  tile.extent "positions"
// CHECK-NEXT:  tile.parameter "q_start" default "0"
// CHECK-NEXT:  tile.require "positions" at_least "q_start + r" of "rows of tensor 'table', one per position"
// CHECK-NEXT:  tile.require "q_start" at_least "0" of
// CHECK-NOT:   prepare
// A work item is a row of some batch entries, for which the embedding is read once.
// CHECK:       tile.stage @y forward over ["ceildiv(b,16)", "r"]
// CHECK-NEXT:    tile.foreach over ["model"] independent
// CHECK:         tile.read {{.*}} inbounds : <[positions, model], f32> -> f32
// CHECK:         scf.for
// CHECK:         tile.write {{.*}} -> <[b, r, model], f32>
// The gradient of a table is written row by row, once, together with that of the tokens: there are
// no sums in float64 and no stage that rounds them.
// CHECK-NOT:   sums_table
// CHECK:       tile.stage @embedding_gradients backward over ["positions"]
// CHECK-NEXT:    tile.foreach over ["model"] independent
// CHECK:         %[[SUM:.*]] = scf.for {{.*}} -> (f64)
// CHECK:           tile.write {{.*}} -> <[b, r, model], f32>
// CHECK:         %[[ROUNDED:.*]] = arith.truncf %[[SUM]] : f64 to f32
// CHECK-NEXT:    tile.write %[[ROUNDED]], {{.*}} -> <[positions, model], f32>
// CHECK-NOT:   tile.stage

// Powers are prepared per dimension, sines and cosines from those of 64 m and n.
// SIN:         tile.require "model" at_least "ceildiv(model, 2) * 2" of
// SIN:         tile.stage @embedding_piece_{{[0-9]+}}_prepare prepare over ["model"]
// SIN:           math.powf {{.*}} : f64
// SIN:         tile.stage @embedding_angle_{{[0-9]+}}_fine_prepare prepare over ["64"]
// SIN-NOT:       math.powf
// SIN:         tile.stage @embedding_angle_{{[0-9]+}}_coarse_prepare prepare over ["ceildiv(r,64)"]
// SIN:         tile.stage @y forward over ["ceildiv(b,16)", "r"]
// SIN-NOT:       math.{{sin|cos|powf}}
// SIN:         tile.stage @d_x

// A power of a function of p by a multiple of d: two short tables per row; full blocks of dimensions and the remainder.
// POWER:       tile.stage @embedding_power_0_signs_prepare prepare over ["model"]
// POWER:       tile.stage @embedding_power_0_prepare prepare over ["r"]
// POWER:         math.powf
// POWER:       tile.stage @y forward over ["ceildiv(b,16)", "r"]
// POWER:         tile.foreach over ["ceildiv(max(model-15,0),16)", "16"] independent
// POWER-NOT:     math.powf
// POWER:         tile.foreach over ["model-16*ceildiv(max(model-15,0),16)"] independent
// POWER-NOT:     math.powf

// A function of both p and d: one table per call, whatever the batch size.
// TABLE:       tile.stage @embedding_table prepare over ["r"]
// TABLE:         math.sin
// TABLE:       tile.stage @y forward
// TABLE-NOT:     math.sin
// TABLE:       tile.stage @w

// Tokens are in bf16, everything else in f32; a small parameter (alpha) has a sum per row of the
// table, in a separate loop whose dimensions are not independent.
// MIX:         tile.buffer "x" argument {strided} : <[b, r, model], bf16>
// MIX:         tile.buffer "embedding_alpha" temporary {zero} : <[offsets, 1], f64>
// MIX:         tile.stage @embedding_gradients backward over ["offsets"]
// MIX:         tile.foreach over ["model"] independent
// MIX:         tile.write {{.*}} : bf16 -> <[b, r, model], bf16>
// MIX-NOT:     embedding_alpha
// MIX:         tile.foreach over ["model"] {
// MIX:         tile.accumulate {{.*}} : f64 -> <[offsets, 1], f64>
// MIX:         tile.stage @embedding_finish finish
// MIX:         tile.foreach over ["offsets"] {
