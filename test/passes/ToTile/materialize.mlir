// RUN: pe-opt %examples/t5.mlir --pe-to-tile-pipeline="materialize=1" | FileCheck %s --check-prefix=TABLE
// RUN: pe-opt %examples/alibi.mlir --pe-to-tile-pipeline="materialize=1" | FileCheck %s --check-prefix=WHOLE
// RUN: pe-opt %examples/rope.mlir --pe-to-tile-pipeline="materialize=1" | FileCheck %s --check-prefix=ROTATION
// RUN: not pe-opt %S/../../tools/pe/Inputs/two-attentions.mlir --pe-to-tile-pipeline="materialize=1" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TWO
// Instead of attention, the plan writes the bias as a stream reads it from the tables, in natural
// units, for every pair, masked or not. test/tools/pe/materialize.test runs such plans on every target.

// TABLE:     tile.pairs
// TABLE-NOT: band
// TABLE:     tile.stage {{.*}} prepare
// TABLE:     tile.buffer "pe.bias"  result {zero} : <[b, hq, r, c], f32>
// TABLE:     tile.stage {{.*}} forward over ["b", "hq"]
// TABLE:       %[[W:.*]] = tile.window
// TABLE:       tile.map({{.*}}%[[W]])
// TABLE:         arith.constant 0.693147
// TABLE:         tile.accumulate
// TABLE-NOT: tile.stage
// TABLE-NOT: tile.dot

// Terms that a normalizer would ignore are not dropped.
// WHOLE: tile.window

// ROTATION: %[[COSINE:[0-9]+]] = tile.buffer "pe.cosine" result : <[r, 32], f32>
// ROTATION: tile.write {{.*}}, %[[COSINE]][
// ROTATION: %[[SINE:[0-9]+]] = tile.buffer "pe.sine" result : <[r, 32], f32>
// ROTATION: tile.write {{.*}}, %[[SINE]][

// TWO: error: expected one attention to materialize its bias, found 2
