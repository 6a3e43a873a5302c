// RUN: pe-opt %examples/nope.mlir --pe-to-tile-pipeline="grad=true" --pe-schedule-gpu --pe-hoist-row-values \
// RUN:   --pe-tile-to-gpu | FileCheck %s --check-prefixes=CHECK,CAUSAL
// RUN: pe-opt %s --pe-to-tile-pipeline="grad=true" --pe-schedule-gpu --pe-hoist-row-values --pe-tile-to-gpu \
// RUN:   | FileCheck %s --check-prefixes=CHECK,LATER

// Blocks of as many heads as stream 32 MiB alternate: 2^25 bytes over 2 * 64 f32 per key, then over the number of keys.
// The blocks with the most pairs have the lowest ranks: the last rows and the first keys of a causal mask, the first
// rows and the last keys if each query attends to itself and the keys after it.
// CHECK: llvm.func @attention_attention_forward(
// CHECK: %[[NUMBER:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: %[[BLOCKS:.*]] = arith.divui %{{.*}}, %{{.*}} : i32
// CHECK: %[[STREAMED:.*]] = arith.constant 65536 : i32
// CHECK-NEXT: arith.divui %[[STREAMED]],
// CHECK: %[[ITEMS:.*]] = arith.muli %[[TOGETHER:.*]], %[[BLOCKS]] : i32
// CHECK: %[[COUNT:.*]] = arith.minsi %[[TOGETHER]],
// CHECK: %[[WITHIN:.*]] = arith.remui %[[NUMBER]], %[[ITEMS]] : i32
// CHECK: %[[RANK:.*]] = arith.divui %[[WITHIN]], %[[COUNT]] : i32
// CAUSAL-NEXT: arith.subi %[[BLOCKS]], %[[RANK]] : i32
// LATER-NEXT: %[[BLOCK:.*]] = arith.constant 64 : i32
// LATER-NEXT: arith.muli %[[RANK]], %[[BLOCK]] : i32

// CHECK: llvm.func @attention_attention_backward(
// CHECK: arith.minsi
// CHECK: %[[WITHIN:.*]] = arith.remui %[[NUMBER:.*]], %[[ITEMS:.*]] : i32
// CHECK: %[[RANK:.*]] = arith.divui %[[WITHIN]], %[[COUNT:.*]] : i32
// CAUSAL-NEXT: %[[BLOCK:.*]] = arith.constant 64 : i32
// CAUSAL-NEXT: arith.muli %[[RANK]], %[[BLOCK]] : i32
// LATER-NEXT: arith.subi %{{.*}}, %[[RANK]] : i32

!qkv = tensor<?x?x?x?xf32>

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %mask = pe.sliding_window {left = 1}
  %o = pe.attention %q, %k, %v mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
