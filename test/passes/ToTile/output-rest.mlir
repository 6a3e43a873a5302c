// Attentions that do not store the part of a 16-bit output that rounding removes; dtype.mlir has one that does.
// RUN: pe-opt %s --split-input-file --pe-to-tile-pipeline="dtype=bf16 grad=true" | FileCheck %s
// RUN: pe-opt %s --split-input-file --pe-to-tile-pipeline="dtype=bf16" | FileCheck %s --check-prefix=FORWARD
// CHECK-NOT: output_rest
// FORWARD-NOT: output_rest

// No parameter learns.
// CHECK: tile.buffer "attention_lse" residual
// CHECK: tile.stage @attention_backward
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %mask = pe.causal
  %o = pe.attention %q, %k, %v mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

// Stick-breaking has no row constant.
// CHECK: tile.stage @attention_backward
// FORWARD: tile.stage @attention_forward
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %slopes: tensor<?xf32> {pe.name = "slopes", pe.init = 1.0})
    -> (!qkv {pe.name = "o"}) {
  %bias = pe.bias_fn(%slopes : tensor<?xf32>) expr "-slopes[h] * (i - j)"
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) {normalizer = #pe.normalizer<stick_breaking>}
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
