// RUN: pe-opt %s --pe-to-tile-pipeline="dtype=bf16 grad=true" | FileCheck %s
// RUN: pe-opt %s --pe-to-tile-pipeline="dtype=f16 grad=true" | FileCheck %s --check-prefix=HALF
// RUN: pe-opt %s --pe-to-tile-pipeline="dtype=tf32 grad=true" | FileCheck %s --check-prefix=TF32
// RUN: not pe-opt %s --pe-to-tile="dtype=f8" 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: pe-opt %s --pe-prepare --pe-structure-pipeline --pe-to-tile="dtype=bf16 widen=true grad=true" \
// RUN:   --verify-roundtrip | FileCheck %s --check-prefix=WIDE
// RUN: not pe-opt %s --pe-to-cpu="dtype=tf32" 2>&1 | FileCheck %s --check-prefix=CPU-TF32

// Activations are narrow, parameters and statistics are not. Products of unscaled queries and keys
// are scaled in f32; operands of a contraction are rounded on creation.
// CHECK: tile.buffer "q" argument {strided} : <[b, hq, r, d], bf16>
// CHECK: tile.buffer "slopes" argument {{.*}}: <[hq], f32>
// CHECK: tile.buffer "d_q" gradient {strided} : <[b, hq, r, d], bf16>
// CHECK: tile.buffer "d_slopes" gradient : <[hq], f32>
// CHECK: tile.buffer "o" result {strided} : <[b, hq, r, e], bf16>
// CHECK: tile.buffer "d_o" cotangent {strided} : <[b, hq, r, e], bf16>
// CHECK: tile.buffer "attention_lse" residual : <[b, hq, r], f32>
// CHECK: %[[REST:.*]] = tile.buffer "attention_output_rest" residual : <[b, hq, r, e], bf16>
// CHECK: tile.stage @attention_forward
// CHECK: %[[Q:.*]] = tile.load %{{.*}} -> <[r, d], bf16>
// CHECK: tile.stream
// CHECK: %[[K:.*]] = tile.load %{{.*}} -> <[c, d], bf16>
// CHECK: tile.dot %[[Q]], %[[K]] over d : <[r, d], bf16>, <[c, d], bf16> -> <[r, c], f32>
// CHECK: arith.mulf
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: tile.dot {{.*}} : <[r, c], bf16>, <[c, e], bf16> -> <[r, e], f32>
// The forward stage stores the output minus its rounded value; the row constant adds it again.
// CHECK: tile.store %{{.*}}, %[[REST]]
// CHECK: tile.stage @attention_backward
// CHECK: tile.load %[[REST]] : {{.*}} -> <[r, e], bf16>
// CHECK: arith.extf %{{.*}} : bf16 to f32
// HALF: tile.buffer "q" argument {strided} : <[b, hq, r, d], f16>

// tf32: tensors are f32. Operands of a contraction are rounded when they are loaded or computed,
// and scores are scaled after the contraction.
// TF32-NOT: output_rest
// TF32: tile.buffer "q" argument {strided} : <[b, hq, r, d], f32>
// TF32: tile.buffer "o" result {strided} : <[b, hq, r, e], f32>
// TF32: tile.stage @attention_forward
// TF32: %[[Q:.*]] = tile.map({{.*}}) : (!tile.val<[r, d], f32>) -> !tile.val<[r, d], tf32>
// TF32: arith.truncf %{{.*}} to_nearest_away : f32 to tf32
// TF32: tile.dot %[[Q]], %{{.*}} over d : <[r, d], tf32>, <[c, d], tf32> -> <[r, c], f32>
// TF32: tile.dot {{.*}} : <[r, c], tf32>, <[c, e], tf32> -> <[r, e], f32>
// TF32: tile.stage @attention_backward

// Tensors are bf16 in memory only. The backward stage reads the output before it was rounded.
// WIDE: tile.buffer "q" argument {strided} : <[b, hq, r, d], bf16>
// WIDE: tile.buffer "d_q" gradient {strided} : <[b, hq, r, d], bf16>
// WIDE: %[[O:.*]] = tile.buffer "o" result {strided} : <[b, hq, r, e], bf16>
// WIDE: %[[OUTPUT:.*]] = tile.buffer "attention_output_wide" residual : <[b, hq, r, e], f32>
// WIDE: tile.stage @attention_forward
// WIDE-NOT: truncf
// WIDE: tile.load %{{.*}} : <[b, hq, r, d], bf16> -> <[r, d], f32>
// WIDE: tile.load %{{.*}} : <[b, hkv, c, d], bf16> -> <[c, d], f32>
// WIDE: tile.store %[[SUM:.*]], %[[O]] : <[r, e], f32> -> <[b, hq, r, e], bf16>
// WIDE: tile.store %[[SUM]], %[[OUTPUT]] : <[r, e], f32> -> <[b, hq, r, e], f32>
// WIDE: tile.stage @attention_backward
// WIDE: tile.load %[[OUTPUT]] : <[b, hq, r, e], f32> -> <[r, e], f32>
// WIDE: tile.store %{{.*}} : <[c, d], f32> -> <[b, hkv, c, d], bf16>

// ERROR: dtype.mlir:[[# @LINE + 3]]:1: error: expected dtype f32, bf16, f16 or tf32, found f8
// CPU-TF32: error: 'tile.map' op expected values of f32 or bf16, found '!tile.val<[r, d], tf32>'
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %slopes: tensor<?xf32> {pe.name = "slopes", pe.init = 1.0})
    -> (!qkv {pe.name = "o"}) {
  %bias = pe.bias_fn(%slopes : tensor<?xf32>) expr "-slopes[h] * abs(i - j)"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
