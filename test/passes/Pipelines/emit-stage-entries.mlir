// RUN: pe-opt %s --pe-emit-stage-entries | FileCheck %s
// The code of a stage moves to an internal function whose buffers do not alias. A function with the
// runtime's calling convention takes its name. Other functions are unchanged.
// CHECK:      llvm.func internal @forward_body(%{{.*}}: !llvm.ptr {llvm.noalias}
// CHECK:      llvm.func @forward(%[[BUFFERS:.*]]: !llvm.ptr, %[[SIZES:.*]]: !llvm.ptr, %[[ITEM:.*]]: i64)
// CHECK:      %[[SLOT:.*]] = llvm.getelementptr %[[BUFFERS]][1]
// CHECK:      %[[B:.*]] = llvm.load %[[SLOT]]
// CHECK:      llvm.call @forward_body(%{{.*}}, %[[B]], %[[SIZES]], %[[ITEM]])
// CHECK:      llvm.func @helper(%{{.*}}: i64)
llvm.func @forward(%a: !llvm.ptr, %b: !llvm.ptr, %sizes: !llvm.ptr, %item: i64) attributes {pe.stage} {
  llvm.return
}
llvm.func @helper(%x: i64) {
  llvm.return
}
