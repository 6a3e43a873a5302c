// RUN: pe-opt %examples/learned.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --implicit-check-not="f64>"
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
// CHECK:       tile.stage {{.*}} forward over ["ceildiv(b,16)", "r"]
// CHECK-NEXT:    tile.foreach over ["model"] independent
// CHECK:         tile.read {{.*}} inbounds : <[positions, model], f32> -> f32
// CHECK:         scf.for
// CHECK:         tile.write {{.*}} -> <[b, r, model], f32>
// The gradient of a table is written row by row, once, together with that of the tokens: there are
// no buffers of sums in float64 and no stage that rounds them.
// CHECK:       tile.stage {{.*}} backward over ["positions"]
// CHECK-NEXT:    tile.foreach over ["model"] independent
// CHECK:         %[[SUM:.*]] = scf.for {{.*}} -> (f64)
// CHECK:           tile.write {{.*}} -> <[b, r, model], f32>
// CHECK:         %[[ROUNDED:.*]] = arith.truncf %[[SUM]] : f64 to f32
// CHECK-NEXT:    tile.write %[[ROUNDED]], {{.*}} -> <[positions, model], f32>
// CHECK-NOT:   tile.stage

// Powers are prepared per dimension, sines and cosines from those of 64 m and n.
// SIN:         tile.require "model" at_least "ceildiv(model, 2) * 2" of
// SIN:         tile.stage {{.*}} prepare over ["model"]
// SIN:           math.powf {{.*}} : f64
// SIN:         %[[COARSE:[0-9]+]] = tile.buffer {{.*}} residual : <["ceildiv(r,64)", 2, model], f64>
// SIN:         %[[FINE:[0-9]+]] = tile.buffer {{.*}} residual : <[64, 2, model], f64>
// SIN:         tile.stage {{.*}} prepare over ["64"]
// SIN-NOT:       math.powf
// SIN:           tile.write {{.*}}, %[[FINE]][
// SIN:         tile.stage {{.*}} prepare over ["ceildiv(r,64)"]
// SIN:           tile.write {{.*}}, %[[COARSE]][
// SIN:         tile.stage {{.*}} forward over ["ceildiv(b,16)", "r"]
// SIN-NOT:       math.{{sin|cos|powf}}
// SIN:         tile.stage {{.*}} backward

// A power of a function of p by a multiple of d: two short tables per row; full blocks of dimensions and the remainder.
// POWER:       tile.stage {{.*}} prepare over ["model"]
// POWER:       tile.stage {{.*}} prepare over ["r"]
// POWER:         math.powf
// POWER:       tile.stage {{.*}} forward over ["ceildiv(b,16)", "r"]
// POWER:         tile.foreach over ["ceildiv(max(model-15,0),16)", "16"] independent
// POWER-NOT:     math.powf
// POWER:         tile.foreach over ["model-16*ceildiv(max(model-15,0),16)"] independent
// POWER-NOT:     math.powf

// A function of both p and d: one table per call, whatever the batch size.
// TABLE:       %[[VALUES:[0-9]+]] = tile.buffer {{.*}} temporary : <[r, model], f32>
// TABLE:       tile.stage {{.*}} prepare over ["r"]
// TABLE:         math.sin
// TABLE:         tile.write {{.*}}, %[[VALUES]][
// TABLE:       tile.stage {{.*}} forward
// TABLE-NOT:     math.sin
// TABLE:         tile.read %[[VALUES]][
// TABLE-NOT:     math.sin
// TABLE:       tile.stage {{.*}} forward

// Tokens are in bf16, everything else in f32; a small parameter (alpha) has a sum per row of the
// table, in a separate loop whose dimensions are not independent.
// MIX:         tile.buffer "x" argument {strided} : <[b, r, model], bf16>
// MIX:         %[[ALPHA:[0-9]+]] = tile.buffer {{.*}} temporary {zero} : <[offsets, 1], f64>
// MIX:         tile.stage {{.*}} backward over ["offsets"]
// MIX:         tile.foreach over ["model"] independent
// MIX:         tile.write {{.*}} : bf16 -> <[b, r, model], bf16>
// MIX-NOT:     %[[ALPHA]][
// MIX:         tile.foreach over ["model"] {
// MIX:         tile.accumulate {{.*}}, %[[ALPHA]][
// MIX:         tile.stage {{.*}} finish
// MIX:         tile.foreach over ["offsets"] {
// MIX:         tile.read %[[ALPHA]][
