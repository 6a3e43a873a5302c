// RUN: split-file %s %t
// RUN: pe-opt %t/merge.mlir --pe-differentiate | FileCheck %s
// RUN: pe-opt %t/merge.mlir -o /dev/null --pe-explain-structure | FileCheck %s --check-prefix=EXPLAIN
// RUN: pe-opt %t/merge.mlir -o /dev/null --pe-explain-structure=json | FileCheck %s --check-prefix=JSON
// RUN: pe-opt %t/errors.mlir --pe-check-dataflow --split-input-file --verify-diagnostics

// The sink's gradient is the last one.
// CHECK-LABEL: func.func private @merge_grad
// CHECK-SAME:    %[[DO:[a-z0-9]+]]: tensor<?x?x?x?xf32> {pe.name = "d_o"},
// CHECK-SAME:    %[[DL:[a-z0-9]+]]: tensor<?x?x?xf32> {pe.name = "d_lse"}
// CHECK:         %[[O:.*]], %{{.*}} = pe.merge
// CHECK:         %[[D:.*]]:5 = pe.merge_grad %[[O]], %[[DO]] lse(%[[DL]] : tensor<?x?x?xf32>)
// CHECK:         return %[[D]]#0, %[[D]]#1, %[[D]]#2, %[[D]]#3, %[[D]]#4

// EXPLAIN:      merge of o1, lse1, o2, lse2, s
// EXPLAIN-NEXT:   at {{.*}}, results of softmax
// EXPLAIN-NEXT:   class: merge
// EXPLAIN-NEXT:   forward: two weights per row, in float64, and one multiplication per element;
// EXPLAIN-SAME:   backward: two sums per row, and two multiplications per element
// JSON: "merges": [

//--- merge.mlir
!o = tensor<?x?x?x?xf32>
!r = tensor<?x?x?xf32>
func.func @merge(%o1: !o {pe.name = "o1"}, %lse1: !r {pe.name = "lse1"}, %o2: !o {pe.name = "o2"},
                 %lse2: !r {pe.name = "lse2"}, %s: tensor<?xf32> {pe.name = "s"})
    -> (!o {pe.name = "o"}, !r {pe.name = "lse"}) {
  %o, %lse = pe.merge %o1, %lse1, %o2, %lse2 sink(%s : tensor<?xf32>) : (!o, !r, !o, !r) -> !o, !r
  return %o, %lse : !o, !r
}

//--- errors.mlir
!o = tensor<?x?x?x?xf32>
!r = tensor<?x?x?xf32>
func.func @twice(%o1: !o {pe.name = "o1"}, %l: !r {pe.name = "l"}, %o2: !o {pe.name = "o2"})
    -> (!o {pe.name = "o"}, !r {pe.name = "lse"}) {
  // expected-error-re @below {{expected the operands of pe.merge{{.*}}found one with other uses{{.*}}(dataflow-C17)}}
  %o, %lse = pe.merge %o1, %l, %o2, %l : (!o, !r, !o, !r) -> !o, !r
  return %o, %lse : !o, !r
}

// -----

!o = tensor<?x?x?x?xf32>
!r = tensor<?x?x?xf32>
func.func @of_attention(%q: !o {pe.name = "q"}, %k: !o {pe.name = "k"}, %v: !o {pe.name = "v"},
                        %o2: !o {pe.name = "o2"}, %l: !r {pe.name = "l"})
    -> (!o {pe.name = "o"}, !r {pe.name = "lse"}) {
  %o1, %lse1 = pe.attention %q, %k, %v : (!o, !o, !o) -> !o, !r
  // expected-error @below {{found the result of another op; merge in a separate program (dataflow-C17)}}
  %o, %lse = pe.merge %o1, %lse1, %o2, %l : (!o, !r, !o, !r) -> !o, !r
  return %o, %lse : !o, !r
}

// -----

!o = tensor<?x?x?x?xf32>
!r = tensor<?x?x?xf32>
func.func @unused(%o1: !o {pe.name = "o1"}, %l1: !r {pe.name = "l1"}, %o2: !o {pe.name = "o2"},
                  %l2: !r {pe.name = "l2"})
    -> (!o {pe.name = "o"}) {
  // expected-error-re @below {{expected both results of the merge to be results{{.*}}found one unused (dataflow-C18)}}
  %o, %lse = pe.merge %o1, %l1, %o2, %l2 : (!o, !r, !o, !r) -> !o, !r
  return %o : !o
}

// -----

!o = tensor<?x?x?x?xf32>
!r = tensor<?x?x?xf32>
// expected-error-re @below {{expected pe.axes ["batch",{{.*}}found ["batch", "head", "key"]{{.*}}(dataflow-C6)}}
func.func @axes(%o1: !o {pe.name = "o1"}, %l1: !r {pe.name = "l1", pe.axes = ["batch", "head", "key"]},
                %o2: !o {pe.name = "o2"}, %l2: !r {pe.name = "l2"})
    -> (!o {pe.name = "o"}, !r {pe.name = "lse"}) {
  %o, %lse = pe.merge %o1, %l1, %o2, %l2 : (!o, !r, !o, !r) -> !o, !r
  return %o, %lse : !o, !r
}
