// RUN: pe-opt %S/../../conformance/encodings/many_pieces.mlir --pe-to-tile-pipeline | FileCheck %s
// If there are too many pieces, a network is evaluated for every score. The phase of a cosine is then
// computed in float64; its remainder modulo 2 pi is small, so the cosine is computed in f32.

// CHECK:     tile.segments
// CHECK:     scf.for
// CHECK:       math.roundeven %{{.*}} : f64
// CHECK:       arith.truncf %{{.*}} : f64 to f32
// CHECK-NEXT:  math.cos %{{.*}} : f32
// CHECK-NEXT:  arith.extf %{{.*}} : f32 to f64
// CHECK-NOT:   math.cos %{{.*}} : f64
