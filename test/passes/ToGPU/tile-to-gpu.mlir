// RUN: pe-opt %examples/nope.mlir --pe-to-tile-pipeline="grad=true" --pe-schedule-gpu --pe-hoist-row-values \
// RUN:   --pe-split-sums --pe-divide-loops --pe-tile-to-gpu | FileCheck %s
// RUN: pe-opt %examples/stick_breaking.mlir --pe-to-tile-pipeline="grad=true" --pe-schedule-gpu --pe-hoist-row-values \
// RUN:   --pe-split-sums --pe-divide-loops --pe-tile-to-gpu | FileCheck %s --check-prefix=STICK
// RUN: pe-opt %examples/t5.mlir --pe-to-tile-pipeline="grad=true" --pe-schedule-gpu --pe-hoist-row-values \
// RUN:   --pe-split-sums --pe-divide-loops --pe-tile-to-gpu | FileCheck %s --check-prefix=TABLE
// RUN: pe-opt %examples/fire_gelu.mlir --pe-to-tile-pipeline="grad=true" --pe-schedule-gpu --pe-hoist-row-values \
// RUN:   --pe-split-sums --pe-divide-loops --pe-tile-to-gpu | FileCheck %s --check-prefix=LOOP
// RUN: pe-opt %examples/fire.mlir --pe-to-tile-pipeline="grad=true" --pe-schedule-gpu --pe-hoist-row-values \
// RUN:   --pe-split-sums --pe-divide-loops --pe-tile-to-gpu | FileCheck %s --check-prefix=FIRE
// RUN: not pe-opt %examples/nope.mlir --pe-to-tile-pipeline --pe-tile-to-gpu 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SCHEDULE

// Kernels are in one module, launches in the plan, with the same threads, shared memory and words of the
// frame. Columns own the backward: dQ is summed across CTAs by tickets, and a separate kernel computes the
// row values from o and dO once.
// CHECK: tile.plan @attention
// CHECK: tile.launch @attention_attention_forward forward items "b*hq*ceildiv(r,64)"
// CHECK-SAME: {shared_bytes = {{[0-9]+}} : i64, threads = [[THREADS:[0-9]+]] : i64,
// CHECK-SAME: words = array<i32: {{[0-9, ]+}}>
// CHECK: tile.launch @attention_attention_backward_rows backward items "b*hq*ceildiv(r,16)"
// CHECK: %[[TICKETS:[0-9]+]] = tile.buffer {{.*}} temporary {zero} : <[b, hq, "ceildiv(r,32)"], i32>
// CHECK: %[[COUNTER:[0-9]+]] = tile.buffer {{.*}} temporary {zero} : <[1], i32>
// CHECK: tile.launch @attention_attention_backward backward items "b*hkv*ceildiv(c,64)"
// CHECK-SAME: %[[TICKETS]], %[[COUNTER]])
// CHECK-NOT: tile.stage
// CHECK: gpu.module @kernels
// CHECK: llvm.mlir.global external @pe_shared() {addr_space = 3 : i32, alignment = 1024 : i64}
// CHECK: llvm.func @attention_attention_forward(%{{.*}}: !llvm.ptr<1>
// CHECK-SAME: i32, {{.*}}i64) attributes {gpu.kernel, nvvm.kernel,
// CHECK-SAME: nvvm.reqntid = array<i32: [[THREADS]], 1, 1>}
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: nvvm.barrier
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"
// CHECK: llvm.func @attention_attention_backward(
// Kernels with turns count their items; in the others, the position in the grid is the item.
// CHECK-NOT: nvvm.read.ptx.sreg.ctaid
// CHECK: llvm.atomicrmw add %{{.*}} syncscope("device") monotonic
// CHECK: llvm.load %{{.*}} atomic syncscope("device") acquire
// CHECK: llvm.store %{{.*}} atomic syncscope("device") release

// Rows own stick-breaking in both directions, because it scans the keys; dK and dV are summed
// across CTAs.
// STICK: tile.launch @attention_attention_backward backward items "b*hq*ceildiv(r,32)"

// Threads build tables; sums along diagonals are added from slots.
// TABLE: %[[SLOTS:[0-9]+]] = tile.buffer {{.*}} temporary slots <c by 64> {zero}
// TABLE-SAME: <[b, hq, "min(ceildiv(c,64),256)", t], f32>
// TABLE: tile.launch @attention_attention_backward backward {{.*}} %[[SLOTS]],
// TABLE: tile.launch @[[ADD:[a-z_0-9]+]] backward {{.*}}(%{{[0-9]+}}, %[[SLOTS]])

// The chain from distances to buckets is divided among workers, whose sums a stage adds up.
// TABLE: %[[WORKERS:[0-9]+]] = tile.buffer {{.*}}finish_workers0" temporary {zero}
// TABLE: tile.launch @attention_attention_term0_finish finish items "ceildiv(hq*({{.*}})*32,128)"
// TABLE-SAME: ({{.*}}, %[[WORKERS]])
// TABLE: tile.launch @attention_attention_term0_finish_workers finish items "ceildiv(32*hq*32,128)"
// TABLE-SAME: (%{{[0-9]+}}, %[[WORKERS]])
// Independent loops are one kernel; the CTAs of the second loop follow those of the first.
// FIRE: tile.launch @[[LOOPS:[a-z_0-9]+_workers]] finish items "ceildiv(hq*32,128)+ceildiv(hq*32*32,128)+
// FIRE-NOT: @[[LOOPS]]_1 finish
// FIRE: tile.launch {{.*}} finish items "ceildiv(1,128)+ceildiv(1,128)+
// The CTA that finds kinks converts the coefficients then.
// FIRE: llvm.func @attention_attention_term0_find(
// FIRE: llvm.call @pe_gpu_find_segments(
// FIRE-NEXT: nvvm.barrier
// FIRE: %[[STEP:.*]] = arith.constant 128 : i64
// FIRE-NEXT: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[STEP]]
// FIRE: llvm.return
// FIRE-NOT: tile.launch
// A loop may have more than 2^31 elements, so they are counted in 64 bits.
// TABLE: llvm.func @[[ADD]](
// TABLE: %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x : i32
// TABLE: %[[WIDE:.*]] = arith.extsi %[[CTA]] : i32 to i64
// TABLE: arith.muli %[[WIDE]], %{{.*}} : i64
// TABLE: arith.cmpi slt, %{{.*}}, %{{.*}} : i64
// TABLE: arith.remui %{{.*}}, %{{.*}} : i64

// A network per pair is emitted once, in a loop over the lane's pairs; its sums over the head's
// parameters pass through an array of the thread.
// LOOP: llvm.func @attention_attention_backward(
// LOOP: llvm.alloca
// LOOP: llvm.call @pe_gpu_erf_f32
// SCHEDULE: error: 'tile.stage' op expected a schedule #step.gpu; run pe-schedule-gpu first
