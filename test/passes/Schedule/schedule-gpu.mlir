// RUN: pe-opt %s --pe-schedule-gpu | FileCheck %s
// RUN: pe-opt %s --pe-schedule-gpu=set=warps=8,owner_tiles=2 | FileCheck %s --check-prefix=SET
// RUN: pe-opt %examples/stick_breaking.mlir --pe-to-tile-pipeline="head-dim=128 value-dim=128 dtype=bf16" \
// RUN:   --pe-schedule-gpu | FileCheck %s --check-prefix=SNAPSHOTS
// RUN: pe-opt %examples/stick_breaking.mlir --pe-to-tile-pipeline="grad=true" --pe-schedule-gpu \
// RUN:   | FileCheck %s --check-prefix=WIDE
// RUN: pe-opt %examples/stick_breaking.mlir --pe-to-tile-pipeline="grad=true" \
// RUN:   --pe-schedule-gpu="smaller-backward=2" | FileCheck %s --check-prefix=BACK
// RUN: pe-opt %examples/stick_breaking.mlir --pe-to-tile-pipeline="grad=true" \
// RUN:   --pe-schedule-gpu="smaller-key-block=1" | FileCheck %s --check-prefix=KEYS
// RUN: pe-opt %examples/t5.mlir --pe-to-tile-pipeline="dtype=bf16" --pe-schedule-gpu="smaller-forward=4" \
// RUN:   | FileCheck %s --check-prefix=FRONT
// RUN: not pe-opt %s --pe-schedule-gpu=set=lanes=8 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not pe-opt %s --pe-schedule-gpu=set=inner_block=24 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: pe-opt %examples/t5.mlir --pe-to-tile-pipeline="grad=true head-dim=128 value-dim=128" --pe-schedule-gpu \
// RUN:   | FileCheck %s --check-prefix=SMALL
// RUN: pe-opt %examples/t5.mlir --pe-to-tile-pipeline="grad=true head-dim=128 value-dim=128" \
// RUN:   --pe-schedule-gpu=machine=sm_80 | FileCheck %s --check-prefix=LARGE
// RUN: pe run %examples/t5.mlir --target=gpu-emulator --chip=sm_80 --random=1 \
// RUN:   --shape=b=1,h=2,hkv=1,sq=70,sk=70,d=128,dv=128 --grad --check 2>&1 | FileCheck %s --check-prefix=RUNS
// RUN: pe run %examples/stick_breaking.mlir --target=gpu-emulator --chip=sm_90a --random=1 \
// RUN:   --shape=b=1,h=2,hkv=1,sq=70,sk=70,d=128,dv=128 --grad --check 2>&1 | FileCheck %s --check-prefix=RUNS

// Chips with 163 KiB of shared memory or more fit twice as many f32 owners.
// SMALL-COUNT-2: #step.gpu<{{.*}}warps = 2,
// LARGE-COUNT-2: #step.gpu<{{.*}}warps = 4,
// RUNS: {{^}}o {{.*}} ok
// RUNS: {{^}}d_k {{.*}} ok

// NAME: expected a field of owner, warps, owner_tiles, inner_block, ahead, slots, late_slots, found lanes (step-C1)
// RANGE: expected inner_block from 16 to 256, a multiple of 16, found 24 (step-C2)

// The number of keys between snapshots is the inner block of all stages with snapshots. It is
// smaller if rows are deep. Without gradients there are no snapshots.
// SNAPSHOTS-NOT: key_block
// SNAPSHOTS: tile.stage @attention_forward
// WIDE: key_block = 32
// WIDE: tile.stage @attention_forward
// WIDE-SAME: inner_block = 32
// WIDE: tile.stage @attention_backward
// WIDE-SAME: inner_block = 32

// Fewer late slots, smaller inner blocks unless snapshots fix them, fewer owner tiles, then fewer warps.
// BACK: tile.stage @attention_forward
// BACK-SAME: warps = 2, owner_tiles = 1, inner_block = 32, ahead = 0, slots = 2, late_slots = 2
// BACK: tile.stage @attention_backward
// BACK-SAME: warps = 1, owner_tiles = 1, inner_block = 32, ahead = 0, slots = 2, late_slots = 1
// KEYS: key_block = 16
// KEYS: tile.stage @attention_forward
// KEYS-SAME: inner_block = 16
// KEYS: tile.stage @attention_backward
// KEYS-SAME: inner_block = 16
// FRONT: tile.stage @attention_forward
// FRONT-SAME: warps = 2, owner_tiles = 1, inner_block = 16, ahead = 0, slots = 2, late_slots = 1

// Only stages with a stream and without a schedule get one.
// CHECK: tile.stage @sums
// CHECK-NOT: #step.gpu
// CHECK: tile.stage @rows
// CHECK-SAME: schedule #step.gpu<owner = rows,
// SET: #step.gpu<owner = rows, warps = 8, owner_tiles = 2,
tile.plan @f attributes {head_dim = 16 : i64, value_dim = 16 : i64} {
  %q = tile.buffer "q" argument : <[b, hq, r, d], f32>
  %k = tile.buffer "k" argument : <[b, hkv, c, d], f32>
  %m = tile.buffer "m" result : <[b, hq, r], f32>
  %n = tile.buffer "n" temporary : <[hq], f32>
  tile.stage @sums prepare over ["hq"] {
    tile.foreach over [] {
    ^bb0(%h: index):
      %zero = arith.constant 0.0 : f32
      tile.write %zero, %n[%h] : f32 -> <[hq], f32>
    }
  }
  tile.stage @rows forward over ["b", "hq"] {
    %x = tile.load %q : <[b, hq, r, d], f32> -> <[r, d], f32>
    %low = tile.constant -1.0e30 : <[r], f32>
    %max = tile.stream ascending carry(%low : !tile.val<[r], f32>) {
    ^bb0(%before: !tile.val<[r], f32>):
      %y = tile.load %k : <[b, hkv, c, d], f32> -> <[c, d], f32>
      %s = tile.dot %x, %y over d : <[r, d], f32>, <[c, d], f32> -> <[r, c], f32>
      %b = tile.reduce max over c %s : <[r, c], f32> -> <[r], f32>
      %a = tile.map(%before, %b) : (!tile.val<[r], f32>, !tile.val<[r], f32>) -> !tile.val<[r], f32> {
      ^bb0(%u: f32, %v: f32):
        %w = arith.maxnumf %u, %v : f32
        tile.yield %w : f32
      }
      tile.yield %a : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %max, %m : <[r], f32> -> <[b, hq, r], f32>
  }
}
