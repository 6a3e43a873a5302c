// RUN: pe-opt %examples/learned.mlir --pe-to-tile-pipeline="grad=1" --pe-schedule-gpu --pe-tile-to-gpu | FileCheck %s
// RUN: pe-opt %examples/mixture.mlir --pe-to-tile-pipeline="grad=1" --pe-schedule-gpu --pe-tile-to-gpu \
// RUN:   | FileCheck %s --check-prefix=MIX

// An independent loop has a thread per element, although its indices of rows and batch entries do
// not show that elements are distinct.
// CHECK: tile.launch {{.*}} forward items "ceildiv((ceildiv(b,16))*r*model,128)"
// CHECK: tile.launch {{.*}} backward items "ceildiv(positions*model,128)"

// A loop that adds the dimensions of a row to one element has a thread per row.
// MIX: tile.launch {{.*}} backward items "ceildiv(offsets*model,128)+ceildiv(offsets,128)"
