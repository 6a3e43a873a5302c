// RUN: pe-opt %s --pe-to-gpu="head-dim=32 value-dim=32 grad=true" | FileCheck %s

// Functions without an accurate PTX instruction call the device library, in f64 in the stage that
// builds a table and in its gradient. Square roots use LLVM's intrinsic.
// CHECK: gpu.module @kernels
// CHECK-DAG: llvm.func @pe_gpu_sin_f64(f64) -> f64
// CHECK-DAG: llvm.func @pe_gpu_cos_f64(f64) -> f64
// CHECK-NOT: math.
// CHECK: llvm.intr.sqrt
// CHECK-NOT: math.
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %amp: tensor<?xf32> {pe.name = "amp", pe.init = 1.0})
    -> (!qkv {pe.name = "o"}) {
  %bias = pe.bias_fn(%amp : tensor<?xf32>) expr "sin(amp[h] * sqrt(abs(i - j)))"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
