// RUN: pe-opt %s --pe-schedule-cpu | FileCheck %s
// RUN: pe-opt %s --pe-schedule-cpu=machine=x86-64-v4 | FileCheck %s --check-prefix=V4
// RUN: pe-opt %s --pe-schedule-cpu="set=query_vectors=3,query_block=48,key_block=32" | FileCheck %s --check-prefix=SET
// RUN: sed 's/head_dim = 64/head_dim = 256/' %s | pe-opt --pe-schedule-cpu | FileCheck %s --check-prefix=DEEP

// RUN: pe-opt %examples/stick_breaking.mlir --pe-to-tile-pipeline="grad=true" --pe-schedule-cpu \
// RUN:   | FileCheck %s --check-prefix=KEYS
// RUN: pe-opt %examples/stick_breaking.mlir --pe-to-tile-pipeline="grad=true" --pe-schedule-cpu=set=key_block=32 \
// RUN:   | FileCheck %s --check-prefix=KEYS32
// RUN: pe-opt %examples/stick_breaking.mlir --pe-to-tile-pipeline --pe-schedule-cpu \
// RUN:   | FileCheck %s --check-prefix=NO-KEYS

// RUN: pe-opt %examples/alibi.mlir --pe-to-tile-pipeline --pe-schedule-cpu | FileCheck %s --check-prefix=PAD
// RUN: pe-opt %examples/relative_table.mlir --pe-to-tile-pipeline --pe-schedule-cpu=machine=x86-64-v4 \
// RUN:   | FileCheck %s --check-prefix=PAD-V4

// A strip of rows loads entire vectors from the table of distances, beyond the last row.
// PAD: tile.plan @attention attributes {distance_padding = 16 : i64
// PAD-V4: tile.plan @attention attributes {distance_padding = 32 : i64

// A plan with buffers per block of keys records the size of the block, which is that of its stages.
// Plans before scheduling, and plans without such buffers, have no key_block.
// KEYS: tile.plan @attention attributes {{.*}}key_block = 64 : i64
// KEYS32: tile.plan @attention attributes {{.*}}key_block = 32 : i64
// KEYS32: #step.cpu<{{.*}}key_block = 32
// KEYS32: #step.cpu<{{.*}}key_block = 32
// NO-KEYS: tile.plan @attention attributes {
// NO-KEYS-NOT: key_block
// NO-KEYS: tile.parameter

// In the stages for few rows, lanes are keys. A split of the keys consists of entire blocks. The queries of
// the rows of a register tile, at most two, fill at most half of the registers.
// RUN: pe-opt %examples/nope.mlir --pe-prepare --pe-structure-pipeline --pe-to-tile=few-rows=8 \
// RUN:   --pe-schedule-cpu=set=forward.key_block=24 | FileCheck %s --check-prefix=FEW
// FEW:      tile.plan @attention attributes {{.*}}key_split = 528 : i64
// RUN: pe-opt %examples/nope.mlir --pe-prepare --pe-structure-pipeline --pe-to-tile="few-rows=8 head-dim=128" \
// RUN:   --pe-schedule-cpu=machine=x86-64-v4 | FileCheck %s --check-prefix=FEW128
// RUN: pe-opt %examples/nope.mlir --pe-prepare --pe-structure-pipeline --pe-to-tile="few-rows=8 head-dim=256" \
// RUN:   --pe-schedule-cpu=machine=x86-64-v4 | FileCheck %s --check-prefix=FEW256
// FEW128:   tile.stage @attention_forward_splits {{.*}}along = keys, lanes = 16, query_vectors = 2,
// FEW256:   tile.stage @attention_forward_splits {{.*}}along = keys, lanes = 16, query_vectors = 1,
// FEW:      tile.stage @attention_forward_splits {{.*}}#step.cpu<owner = rows, along = keys, lanes = 8,
// FEW-SAME: query_vectors = 1,
// FEW-SAME: query_block = 16, key_block = 24,
// FEW:      tile.stage @attention_forward_merge {{.*}}#step.cpu<owner = rows, along = keys,
// FEW:      tile.stage @attention_forward forward {{.*}}#step.cpu<owner = rows, along = rows,

// Processors with products of pairs of bf16 use them for contractions of bf16. Stages that run one row at a
// time multiply in f32.
// RUN: pe-opt %examples/nope.mlir --pe-prepare --pe-to-tile-pipeline="dtype=bf16 grad=true" \
// RUN:   --pe-schedule-cpu=machine=x86-64-v4+avx512bf16 | FileCheck %s --check-prefix=PAIRS
// PAIRS: tile.stage @attention_forward forward {{.*}}by = pairdot>
// PAIRS: tile.dot %{{.*}} over d : <[r, d], bf16>, <[c, d], bf16> -> <[r, c], f32>
// PAIRS: tile.stage @attention_backward {{.*}}by = pairdot>

// With 16 registers, tiles are 4 x 2 vectors of 8 lanes; with 32 registers, 8 x 2 vectors of 16 lanes, with
// the instruction that scales by powers of two. The rows of a work item decrease with the depth. A stage
// without a stream gets the lanes of loops.
// CHECK-LABEL: tile.plan @narrow
// CHECK:       tile.stage @no_stream
// CHECK-SAME:  schedule #step.loops<lanes = 16, group = {{[18]}}>
// CHECK:       tile.stage @stream
// CHECK-SAME:  #step.cpu<owner = rows, along = rows, lanes = 8, query_vectors = 2, key_rows = 4, {{.*}} = 128,
// CHECK-SAME:  exp2 = bits, by = fma>
// DEEP-LABEL:  tile.plan @narrow
// DEEP:        query_block = 32,
// V4-LABEL:    tile.plan @narrow
// V4:          tile.stage @stream
// V4-SAME:     lanes = 16, query_vectors = 2, key_rows = 8, {{.*}}exp2 = scalef
// SET-LABEL:   tile.plan @narrow
// SET:         tile.stage @stream
// SET-SAME:    query_vectors = 3, {{.*}}query_block = 48, key_block = 32,
tile.plan @narrow attributes {head_dim = 64 : i64, value_dim = 16 : i64} {
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @no_stream prepare over ["b", "hq"] {
    tile.foreach over ["r"] {
    ^bb0(%b: index, %h: index, %r: index):
      %zero = arith.constant 0.0 : f32
      tile.write %zero, %O[%b, %h, %r] : f32 -> !tile.buffer<[b, hq, r], f32>
      tile.yield
    }
  }
  tile.stage @stream forward over ["b", "hq"] {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %m0 = tile.constant -1.0e30 : !tile.val<[r], f32>
    %m = tile.stream ascending carry(%m0 : !tile.val<[r], f32>) {
    ^bb0(%mc: !tile.val<[r], f32>):
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      %s = tile.dot %q, %k over d : !tile.val<[r, d], f32>, !tile.val<[c, d], f32> -> !tile.val<[r, c], f32>
      %mb = tile.reduce max over c %s : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      %mn = tile.map(%mc, %mb) : (!tile.val<[r], f32>, !tile.val<[r], f32>) -> !tile.val<[r], f32> {
      ^bb0(%x: f32, %y: f32):
        %z = arith.maxnumf %x, %y : f32
        tile.yield %z : f32
      }
      tile.yield %mn : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %m, %O : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}
