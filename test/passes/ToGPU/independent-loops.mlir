// RUN: pe-opt %examples/learned.mlir --pe-to-tile-pipeline="grad=1" --pe-schedule-gpu --pe-tile-to-gpu | FileCheck %s
// RUN: pe-opt %examples/mixture.mlir --pe-to-tile-pipeline="grad=1" --pe-schedule-gpu --pe-tile-to-gpu \
// RUN:   | FileCheck %s --check-prefix=MIX

// An independent loop has a thread per element, although its indices of rows and batch entries do
// not show that elements are distinct.
// CHECK: tile.launch {{.*}} forward items "ceildiv((ceildiv(b,16))*r*model,128)"
// CHECK: tile.launch {{.*}} backward items "ceildiv(positions*model,128)"

// A loop that adds the dimensions of a row to one element has a thread per row.
// MIX: tile.launch {{.*}} backward items "ceildiv(offsets*model,128)+ceildiv(offsets,128)"

// A table is written at its index plus a size of the call, so each element has a thread. Its number of elements
// depends on the start of the queries, which a grid may not, so a constant number of CTAs divides them.
// RUN: pe-opt %examples/t5.mlir --pe-to-tile-pipeline --pe-schedule-gpu --pe-tile-to-gpu \
// RUN:   | FileCheck %s --check-prefix=TABLE
// TABLE: tile.launch @attention_attention_term0_prepare prepare items "128"
// TABLE: llvm.func @attention_attention_term0_prepare(
// TABLE: %[[FIRST:.*]] = arith.addi %{{.*}}, %{{.*}} : i64
// TABLE: %[[STEP:.*]] = arith.constant 16384 : i64
// TABLE: scf.for %[[N:.*]] = %[[FIRST]] to %{{.*}} step %[[STEP]] : i64 {
// TABLE: arith.remui %[[N]]
// TABLE-NOT: scf.for
// TABLE: llvm.return
