// RUN: pe-opt %examples/learned.mlir --pe-to-tile-pipeline="grad=1" --pe-schedule-gpu --pe-tile-to-gpu | FileCheck %s
// RUN: pe-opt %examples/mixture.mlir --pe-to-tile-pipeline="grad=1" --pe-schedule-gpu --pe-tile-to-gpu | FileCheck %s --check-prefix=MIX

// A thread per element where a loop is independent, although the indices of rows and batch entries do
// not show it.
// CHECK: tile.launch @embed_y {{.*}} items "ceildiv((ceildiv(b,16))*r*model,128)"
// CHECK: tile.launch @embed_embedding_gradients {{.*}} items "ceildiv(positions*model,128)"

// Beside it a loop that adds the dimensions of a row to one number: a thread per row.
// MIX: tile.launch @embed_embedding_gradients {{.*}} items "ceildiv(offsets*model,128)+ceildiv(offsets,128)"
