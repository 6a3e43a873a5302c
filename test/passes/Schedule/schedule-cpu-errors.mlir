// RUN: not pe-opt %S/schedule-cpu.mlir --pe-schedule-cpu=machine=x86-64-v2 2>&1 | FileCheck %s --check-prefix=FEATURES
// RUN: not pe-opt %S/schedule-cpu.mlir --pe-schedule-cpu=set=key_blocks=32 2>&1 | FileCheck %s --check-prefix=FIELD
// RUN: not pe-opt %S/schedule-cpu.mlir --pe-schedule-cpu=set=exp2=fast 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not pe-opt %S/schedule-cpu.mlir --pe-schedule-cpu=set=key_block=33 2>&1 | FileCheck %s --check-prefix=TILES
// RUN: not pe-opt %S/schedule-cpu.mlir --pe-schedule-cpu=set=unroll=0 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: pe-opt %examples/stick_breaking.mlir --pe-to-tile-pipeline="grad=true" \
// RUN:   | sed 's/tile.plan @attention attributes {/&key_block = 64 : i64, /' \
// RUN:   | not pe-opt --pe-schedule-gpu=set=inner_block=16 2>&1 | FileCheck %s --check-prefix=OTHERS
// RUN: pe-opt %examples/nope.mlir --pe-prepare --pe-structure-pipeline --pe-to-tile=few-rows=8 --pe-schedule-cpu \
// RUN:   | sed 's/key_split = 512/key_split = 100/' | not pe-opt --pe-tile-to-cpu 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SPLITS
// SPLITS: error: 'tile.stage' op expected key_block to divide key_split of the plan, 100, found 64 (step-C8)
// RUN: pe-opt %examples/nope.mlir --pe-to-tile-pipeline --pe-schedule-cpu | not pe-opt --pe-schedule-gpu 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MACHINE
// MACHINE: error: 'tile.stage' op expected no schedule, or one of this machine, found #step.cpu<owner = rows,
// RUN: not pe-opt %examples/stick_breaking.mlir --pe-to-tile-pipeline="grad=true" --pe-tile-to-cpu 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NOBODY
// RUN: not pe-opt %examples/stick_breaking.mlir --pe-to-tile-pipeline="grad=true" --pe-tile-to-gpu 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NOBODY
// RUN: not pe-opt %s --pe-export-plan 2>&1 | FileCheck %s --check-prefix=NOBODY

// All snapshots share one key block, and a schedule must have chosen it.
// OTHERS: error: 'tile.stage' op expected key blocks of 64, the size for the plan's other snapshots, found 16
// NOBODY: error: 'tile.plan' op expected key_block, because it counts blocks of keys (kb);
// NOBODY-SAME: run pe-schedule-cpu or pe-schedule-gpu first
tile.plan @kept attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %m = tile.buffer "mass" residual : !tile.buffer<[b, hq, kb, r], f32>
}

// FEATURES: error: expected machine x86-64-v3, x86-64-v4 or x86-64-v4+avx512bf16, found x86-64-v2
// FIELD: error: schedule: expected a field of owner, along, lanes, {{.*}}, exp2, by, found key_blocks (step-C1)
// VALUE: error: schedule: expected exp2 bits or scalef, found fast (step-C2)
// TILES: error: 'tile.stage' op expected key_block to be a multiple of its tiles, 4, found 33 (step-C3)
// RANGE: error: schedule: expected unroll from 1 to 16, found 0 (step-C2)
