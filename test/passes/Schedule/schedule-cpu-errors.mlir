// RUN: not pe-opt %S/schedule-cpu.mlir --pe-schedule-cpu=features=x86-64-v2 2>&1 | FileCheck %s --check-prefix=FEATURES
// RUN: not pe-opt %S/schedule-cpu.mlir --pe-schedule-cpu=set=key_blocks=32 2>&1 | FileCheck %s --check-prefix=SET
// RUN: not pe-opt %S/schedule-cpu.mlir --pe-schedule-cpu=set=exp2=fast 2>&1 | FileCheck %s --check-prefix=SET
// RUN: not pe-opt %S/schedule-cpu.mlir --pe-schedule-cpu=set=key_block=33 2>&1 | FileCheck %s --check-prefix=SET

// FEATURES: error: expected features x86-64-v3 or x86-64-v4, found x86-64-v2
// SET: error: 'tile.stage' op expected `set` to name entries of cpu_schedule whose key_block and query_block are multiples of their tiles
