// One case per constraint of pe.merge and pe.merge_grad (docs/spec.md).
// RUN: pe-opt %s --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --split-input-file 2>&1 | FileCheck %s

!r = tensor<?x?x?xf32>
func.func @other_heads(%a: tensor<?x4x?x?xf32>, %b: tensor<?x2x?x?xf32>, %l: !r) {
  // CHECK: expected the heads of the second output to match the 4 of the first output, found 2;
  // CHECK-SAME: {{^}} shards of one attention are merged (merge-C1)
  // expected-error-re @below {{heads of the second output{{.*}}4 of the first output, found 2;{{.*}}(merge-C1)}}
  %o, %lse = pe.merge %a, %l, %b, %l : (tensor<?x4x?x?xf32>, !r, tensor<?x2x?x?xf32>, !r) -> tensor<?x4x?x?xf32>, !r
  return
}

// -----

!r = tensor<?x?x?xf32>
func.func @other_head_dim(%a: tensor<?x?x?x64xf32>, %l: !r) {
  // expected-error @below {{64 of the first output, found 32; shards of one attention are merged (merge-C1)}}
  %o, %lse = pe.merge %a, %l, %a, %l : (tensor<?x?x?x64xf32>, !r, tensor<?x?x?x64xf32>, !r) -> tensor<?x?x?x32xf32>, !r
  return
}

// -----

!o = tensor<2x?x?x?xf32>
func.func @other_batch_of_logs(%a: !o, %l: tensor<2x?x?xf32>, %m: tensor<3x?x?xf32>) {
  // expected-error-re @below {{batch of the second log-sum-exp to match the 2 of{{.*}}, found 3;{{.*}}(merge-C2)}}
  %o, %lse = pe.merge %a, %l, %a, %m : (!o, tensor<2x?x?xf32>, !o, tensor<3x?x?xf32>) -> !o, tensor<2x?x?xf32>
  return
}

// -----

!r = tensor<?x?x?xf32>
func.func @two_types(%a: tensor<?x?x?x?xf32>, %b: tensor<?x?x?x?xbf16>, %l: !r) {
  // expected-error @below {{expected outputs of the same element type, found 'f32' and 'bf16' (merge-C3)}}
  %o, %lse = pe.merge %a, %l, %b, %l : (tensor<?x?x?x?xf32>, !r, tensor<?x?x?x?xbf16>, !r) -> tensor<?x?x?x?xf32>, !r
  return
}

// -----

!o = tensor<?x?x?x?xf32>
!r = tensor<?x?x?xf32>
func.func @sink_of_mass(%a: !o, %l: !r, %s: tensor<?xf32>) {
  // expected-error-re @below {{no sink(...) under stick_breaking,{{.*}}that a sink could join (merge-C4)}}
  %o, %lse = pe.merge %a, %l, %a, %l sink(%s : tensor<?xf32>) {normalizer = #pe.normalizer<stick_breaking>}
      : (!o, !r, !o, !r) -> !o, !r
  return
}

// -----

!o = tensor<?x4x?x?xf32>
!r = tensor<?x?x?xf32>
func.func @sinks_of_other_heads(%a: !o, %l: !r, %s: tensor<3xf32>) {
  // expected-error @below {{expected a sink per head, 4, found 3 (merge-C5)}}
  %o, %lse = pe.merge %a, %l, %a, %l sink(%s : tensor<3xf32>) : (!o, !r, !o, !r) -> !o, !r
  return
}

// -----

!o = tensor<?x?x?x?xf32>
func.func @gradient_of_nothing(%a: !o) {
  // expected-error @below {{expected the output of a pe.merge, found another value (merge_grad-C1)}}
  %d = pe.merge_grad %a, %a : (!o, !o) -> (!o)
  return
}

// -----

!o = tensor<?x?x?x?xf32>
!r = tensor<?x?x?xf32>
func.func @too_few_gradients(%a: !o, %l: !r) {
  %o, %lse = pe.merge %a, %l, %a, %l : (!o, !r, !o, !r) -> !o, !r
  // expected-error @below {{expected one gradient per operand of the merge, of types}}
  %d = pe.merge_grad %o, %a : (!o, !o) -> (!o)
  return
}
