// RUN: pe-opt %examples/t5.mlir --pe-to-tile-pipeline="materialize=1" | FileCheck %s --check-prefix=TABLE
// RUN: pe-opt %examples/alibi.mlir --pe-to-tile-pipeline="materialize=1" | FileCheck %s --check-prefix=WHOLE
// RUN: pe-opt %examples/rope.mlir --pe-to-tile-pipeline="materialize=1" | FileCheck %s --check-prefix=ROTATION
// RUN: not pe-opt %S/../../tools/pe/Inputs/two-attentions.mlir --pe-to-tile-pipeline="materialize=1" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TWO
// RUN: pe-opt %examples/fire.mlir --pe-to-cpu="materialize=1" | FileCheck %s --check-prefix=CPU
// RUN: pe-opt %examples/fire.mlir --pe-to-gpu="materialize=1" | FileCheck %s --check-prefix=GPU
// Instead of attention, the plan writes the bias as a stream reads it from the tables, in natural
// units, for every pair, masked or not.

// TABLE:     tile.pairs
// TABLE-NOT: before
// TABLE:     tile.foreach over ["max(0, r + c - 1 - 0)"]
// TABLE:     tile.buffer "pe.bias"  result {zero} : <[b, hq, r, c], f32>
// TABLE:     tile.stage @attention_bias  forward over ["b", "hq"]
// TABLE:       %[[W:.*]] = tile.window
// TABLE:       tile.map({{.*}}%[[W]])
// TABLE:         arith.constant 0.693147
// TABLE:         tile.accumulate
// TABLE-NOT: tile.stage
// TABLE-NOT: tile.dot

// Terms that a normalizer would ignore are not dropped.
// WHOLE: tile.window

// ROTATION: tile.buffer "pe.cosine"  result : <[r, 32], f32>
// ROTATION: tile.stage @attention_cosine  forward
// ROTATION: tile.buffer "pe.sine"  result : <[r, 32], f32>

// TWO: error: expected one attention to materialize its bias, found 2

// CPU: llvm.func {{.*}}attention_bias
// GPU: llvm.func @attention_attention_bias(
