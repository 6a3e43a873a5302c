// RUN: pe-opt %s --pe-to-gpu="head-dim=32 value-dim=32" | FileCheck %s

// A value that is kept as two f32 is rounded, and its remainder is rounded again. The flag that
// fuses products and sums does not fold the conversion to f32 and back.
// CHECK: gpu.module @kernels
// CHECK: %[[HIGH:[0-9]+]] = llvm.fptrunc %[[VALUE:[0-9]+]] {{.*}}: f64 to f32
// CHECK: %[[WIDE:[0-9]+]] = llvm.fpext %[[HIGH]] {{.*}}: f32 to f64
// CHECK: %[[REST:[0-9]+]] = llvm.fsub %[[VALUE]], %[[WIDE]] {fastmathFlags = #llvm.fastmath<contract>} : f64
// CHECK: llvm.fptrunc %[[REST]] {{.*}}: f64 to f32
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %w: tensor<?xf32> {pe.name = "w", pe.init = "normal(1)"}) -> (!qkv {pe.name = "o"}) {
  %bias = pe.bias_fn(%w : tensor<?xf32>) expr "w[h] * (sqrt(j * j + 1.0) - sqrt(i * i + 1.0))"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
