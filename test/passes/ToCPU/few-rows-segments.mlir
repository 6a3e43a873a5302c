// The heads of a key head share the factors of a piecewise linear bias, so its pieces in a block of keys
// are found once for all of them, before they visit the block. With factors per head, as here, each head
// finds its own.
//
// RUN: pe-opt %examples/fire.mlir --pe-prepare --pe-structure-pipeline --pe-to-tile=few-rows=8 --pe-schedule-cpu \
// RUN:   --pe-tile-to-cpu | FileCheck %s --check-prefix=SHARED
// RUN: pe-opt %s --pe-prepare --pe-structure-pipeline --pe-to-tile=few-rows=8 --pe-schedule-cpu \
// RUN:   --pe-tile-to-cpu | FileCheck %s
// RUN: %python %S/Inputs/run-cases.py %S few few-rows-segments

// SHARED-LABEL: func.func @attention_attention_forward_splits(
// SHARED:         memref.alloca() {{.*}}memref<16xi32>
// The rows of the call: kinks below the range of the block, and below its end.
// SHARED-COUNT-2: math.ctpop
// SHARED:         memref.store {{.*}} memref<16xi32>
// SHARED:         memref.store {{.*}} memref<16xi32>
// The rows of the item, in blocks inside and partly inside the mask.
// SHARED-COUNT-4: memref.load {{.*}} memref<16xi32>
// SHARED-NOT:     math.ctpop
// SHARED-LABEL: func.func @attention_attention_forward_merge(

// CHECK-LABEL: func.func @attention_attention_forward_splits(
// CHECK-NOT:     memref<16xi32>
// CHECK-COUNT-4: math.ctpop
// CHECK-NOT:     memref<16xi32>
// CHECK-LABEL: func.func @attention_attention_forward_merge(
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %c: tensor<?xf32> {pe.name = "c", pe.init = 0.1},
                     %near: tensor<?xf32> {pe.name = "near", pe.init = 1.0},
                     %w1: tensor<8xf32> {pe.name = "w1"}, %b1: tensor<8xf32> {pe.name = "b1"},
                     %w2: tensor<?x8xf32> {pe.name = "w2"}, %b2: tensor<?xf32> {pe.name = "b2"})
    -> (!qkv {pe.name = "o"}) {
  %t = pe.progressive c(%c : tensor<?xf32>) threshold(%near : tensor<?xf32>) {initial_length = 512.0, epsilon = 1.0e-6}
  %bias = pe.mlp %t layers(%w1, %b1, %w2, %b2 : tensor<8xf32>, tensor<8xf32>, tensor<?x8xf32>, tensor<?xf32>)
    {activation = #pe.activation<relu>}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
