// Contractions with vectors of the distance: if columns own the kernel (softmax, backward), if rows
// do, and if rows own a permuted block (stick-breaking); with vectors common to all heads, and per
// head.
//
// RUN: pe run %s --entry=common --random=1 --shape=b=2,h=4,hkv=2,sq=70,sk=130,d=40 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s
// RUN: pe run %s --entry=common --random=2 --shape=b=1,h=2,sq=70,sk=130,d=24 --q-start=3 --k-start=5 --grad --check \
// RUN:   --target=gpu-emulator --dtype=bf16 2>&1 | FileCheck %s
// RUN: pe run %s --entry=common --random=3 --shape=b=1,h=2,sq=100,d=16 --grad --check --target=gpu-emulator \
// RUN:   --dtype=tf32 2>&1 | FileCheck %s
// RUN: pe run %s --entry=heads_stick --random=1 --shape=b=1,h=4,hkv=2,sq=70,sk=130,d=16 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s
// RUN: pe run %s --entry=heads_stick --random=2 --shape=b=1,h=2,sq=100,sk=150,d=40 --grad --check \
// RUN:   --target=gpu-emulator --dtype=f16 2>&1 | FileCheck %s
// RUN: pe run %s --entry=heads_stick --random=3 --shape=b=1,h=2,sq=100,d=64 --grad --check --target=gpu-emulator \
// RUN:   --dtype=tf32 2>&1 | FileCheck %s
// CHECK: d_rate {{.*}} ok
// CHECK-NOT: FAIL
//
// A separate stage writes the vectors by distance, in the type of the operands, for each direction.
// RUN: pe-opt %s --pe-to-tile-pipeline="entry=common dtype=bf16 grad=1" --pe-schedule-gpu --pe-hoist-row-values \
// RUN:   --pe-split-sums --pe-lay-out-tables --pe-divide-loops --pe-tile-to-gpu | FileCheck %s --check-prefix=PLAN
// PLAN: %[[FORWARD:[0-9]+]] = tile.buffer {{.*}} temporary : <[t, d], bf16>
// PLAN: tile.launch {{.*}} forward {{.*}}(%{{[0-9]+}}, %[[FORWARD]])
// PLAN: tile.launch @common_common_forward forward {{.*}}, %[[FORWARD]])
// PLAN: %[[BACKWARD:[0-9]+]] = tile.buffer {{.*}} temporary : <[t, d], bf16>
// PLAN: tile.launch {{.*}} backward {{.*}}(%{{[0-9]+}}, %[[BACKWARD]])
// PLAN: tile.launch @common_common_backward backward {{.*}}, %[[BACKWARD]],
//
// The forward kernel multiplies 16 rows by 64 + 16 distances, with 10 products for each of the 4 steps of the
// depth in addition to 8 for the keys, and moves 32 pairs to their places.
// RUN: pe-opt %s --pe-to-gpu="entry=common dtype=bf16 grad=1" | FileCheck %s --check-prefix=KERNEL
// KERNEL: llvm.func @common_common_forward(
// KERNEL-COUNT-40: nvvm.mma.sync
// KERNEL-COUNT-32: nvvm.shfl.sync idx
// KERNEL-COUNT-32: nvvm.mma.sync
// KERNEL: llvm.func
//
// Without such a term, no pairs are moved.
// RUN: pe-opt %examples/t5.mlir --pe-to-gpu="dtype=bf16 grad=1" | FileCheck %s --check-prefix=NONE
// NONE-NOT: nvvm.shfl.sync idx
!t = tensor<?x?x?x?xf32>

func.func @common(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                  %rate: tensor<?xf32> {pe.name = "rate", pe.axes = ["depth"], pe.init = "uniform(0.02,0.2)"})
    -> (!t {pe.name = "o"}) {
  %c = pe.content_fn(%rate : tensor<?xf32>) expr "exp(-rate[d] * abs(i - j))"
  %m = pe.sliding_window {left = 90}
  %o = pe.attention %q, %k, %v content(%c) mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

func.func @heads_stick(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                       %rate: tensor<?x?xf32> {pe.name = "rate", pe.axes = ["head", "depth"],
                                               pe.init = "uniform(0.02,0.2)"},
                       %shift: tensor<?x?xf32> {pe.name = "shift", pe.axes = ["head", "depth"],
                                                pe.init = "normal(0.3)"}) -> (!t {pe.name = "o"}) {
  %c = pe.content_fn(%rate : tensor<?x?xf32>) shift(%shift : tensor<?x?xf32>)
      expr "exp(-rate[h, d] * abs(i - j))"
  %m = pe.causal
  %o = pe.attention %q, %k, %v content(%c) mask(%m) {normalizer = #pe.normalizer<stick_breaking>} : (!t, !t, !t) -> !t
  return %o : !t
}
