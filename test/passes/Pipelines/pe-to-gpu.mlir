// RUN: pe-opt %s --pe-to-gpu="head-dim=32 value-dim=32 grad=true" | FileCheck %s

// The plan is an attribute of the module, and kernels contain only the LLVM and NVVM dialects.
// CHECK: module attributes {{.*}}pe.plan = "{{.*}}attention_attention_backward
// CHECK-NOT: scf.
// CHECK-NOT: arith.
// CHECK: gpu.module @kernels
// CHECK: llvm.func @attention_attention_forward(
// CHECK: nvvm.cp.async.shared.global
// CHECK-NOT: scf.
// CHECK-NOT: arith.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %mask = pe.causal
  %o = pe.attention %q, %k, %v mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
