// RUN: not pe-opt %S/schedule-cpu.mlir --pe-schedule-cpu=features=x86-64-v2 2>&1 | FileCheck %s --check-prefix=FEATURES
// RUN: not pe-opt %S/schedule-cpu.mlir --pe-schedule-cpu=set=key_blocks=32 2>&1 | FileCheck %s --check-prefix=SET
// RUN: not pe-opt %S/schedule-cpu.mlir --pe-schedule-cpu=set=exp2=fast 2>&1 | FileCheck %s --check-prefix=SET
// RUN: not pe-opt %S/schedule-cpu.mlir --pe-schedule-cpu=set=key_block=33 2>&1 | FileCheck %s --check-prefix=SET
// RUN: pe-opt %examples/stick_breaking.mlir --pe-to-tile-pipeline="grad=true" --pe-schedule-cpu | not pe-opt --pe-schedule-gpu=set=inner_block=16 2>&1 | FileCheck %s --check-prefix=OTHERS
// RUN: not pe-opt %examples/stick_breaking.mlir --pe-to-tile-pipeline="grad=true" --pe-tile-to-cpu 2>&1 | FileCheck %s --check-prefix=NOBODY
// RUN: not pe-opt %examples/stick_breaking.mlir --pe-to-tile-pipeline="grad=true" --pe-tile-to-gpu 2>&1 | FileCheck %s --check-prefix=NOBODY
// RUN: not pe-opt %s --pe-export-plan 2>&1 | FileCheck %s --check-prefix=NOBODY

// Snapshots have one block of keys, which somebody must have chosen.
// OTHERS: error: 'tile.stage' op expected blocks of 64 keys, as the plan's other snapshots have, found 16
// NOBODY: error: 'tile.plan' op expected key_block, because it counts blocks of keys (kb); run pe-schedule-cpu or pe-schedule-gpu before
tile.plan @kept attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %m = tile.buffer "mass" residual : !tile.buffer<[b, hq, kb, r], f32>
}

// FEATURES: error: expected features x86-64-v3 or x86-64-v4, found x86-64-v2
// SET: error: 'tile.stage' op expected `set` to name entries of cpu_schedule whose key_block and query_block are multiples of their tiles
