// RUN: pe-opt %examples/nope.mlir --pe-expand-biases --pe-split-terms | FileCheck %s --check-prefix=NONE
// RUN: pe-opt %examples/alibi.mlir --pe-expand-biases --pe-split-terms | FileCheck %s --check-prefix=AFFINE
// RUN: pe-opt %examples/rse.mlir --pe-expand-biases --pe-split-terms | FileCheck %s --check-prefix=AFFINE
// RUN: pe-opt %examples/t5.mlir --pe-expand-biases --pe-split-terms | FileCheck %s --check-prefix=DISTANCE
// RUN: pe-opt %examples/t5_bidirectional.mlir --pe-expand-biases --pe-split-terms \
// RUN:   | FileCheck %s --check-prefix=DISTANCE
// RUN: pe-opt %examples/kerple_log.mlir --pe-expand-biases --pe-split-terms | FileCheck %s --check-prefix=DISTANCE
// RUN: pe-opt %examples/kerple_power.mlir --pe-expand-biases --pe-split-terms | FileCheck %s --check-prefix=DISTANCE
// RUN: pe-opt %examples/sandwich.mlir --pe-expand-biases --pe-split-terms | FileCheck %s --check-prefix=DISTANCE
// RUN: pe-opt %examples/fire_clamped.mlir --pe-expand-biases --pe-split-terms | FileCheck %s --check-prefix=DISTANCE
// RUN: pe-opt %examples/custom_bias.mlir --pe-expand-biases --pe-split-terms | FileCheck %s --check-prefix=DISTANCE
// RUN: pe-opt %examples/relative_table.mlir --pe-expand-biases --pe-split-terms | FileCheck %s --check-prefix=DISTANCE
// RUN: pe-opt %examples/fire.mlir --pe-expand-biases --pe-split-terms | FileCheck %s --check-prefix=SEGMENTS
// RUN: pe-opt %examples/fire_2x32.mlir --pe-expand-biases --pe-split-terms | FileCheck %s --check-prefix=SEGMENTS
// RUN: pe-opt %examples/fire_bidirectional.mlir --pe-expand-biases --pe-split-terms \
// RUN:   | FileCheck %s --check-prefix=SEGMENTS
// RUN: pe-opt %examples/fire_no_log.mlir --pe-expand-biases --pe-split-terms | FileCheck %s --check-prefix=SEGMENTS
// RUN: pe-opt %examples/fire_linear.mlir --pe-expand-biases --pe-split-terms | FileCheck %s --check-prefix=SEGMENTS
// RUN: pe-opt %examples/fire_gelu.mlir --pe-expand-biases --pe-split-terms | FileCheck %s --check-prefix=SMOOTH
// RUN: pe-opt %examples/fire_final_activation.mlir --pe-expand-biases --pe-split-terms \
// RUN:   | FileCheck %s --check-prefix=SEGMENTS
// RUN: pe-opt %examples/fire_fixed_threshold.mlir --pe-expand-biases --pe-split-terms \
// RUN:   | FileCheck %s --check-prefix=SEGMENTS
// RUN: pe-opt %examples/fire_tanh.mlir --pe-expand-biases --pe-split-terms | FileCheck %s --check-prefix=SMOOTH

// The encodings of examples/encodings have the classes of docs/architecture.md, section 5.
// NONE-NOT:   pe.term
// AFFINE:     pe.term <affine, "is proportional to i - j">
// DISTANCE:   pe.term <distance, "depends on i and j only through i - j">
// SEGMENTS:   pe.term <segments, "is piecewise linear in u(i - j) / r(i)">
// SMOOTH:     pe.term <segments, "is approximated by cubic pieces in u(i - j) / r(i)">
