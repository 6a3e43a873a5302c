// RUN: split-file %s %t
// RUN: pe run %t/constant.mlir --random=1 --shape=b=1,h=1,sq=3,sk=2,d=16 --k-start=-1 --grad --check \
// RUN:   --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %t/constant.mlir --random=1 --shape=b=1,h=1,sq=3,sk=2,d=16 --k-start=-1 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s
// RUN: pe run %t/constant.mlir --random=1 --shape=b=1,h=1,sq=3,sk=2,d=16 --k-start=-1 --grad --check \
// RUN:   --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %t/zero.mlir --random=1 --shape=b=1,h=1,sq=3,sk=2,d=16 --grad --check 2>&1 | FileCheck %s
// RUN: pe run %t/query.mlir --random=1 --shape=b=1,h=1,sq=3,sk=2,d=16 --grad --check 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok
// CHECK: {{^}}d_v {{.*}} ok

// Softmax is invariant to these biases, and a pass drops them. Queries at negative positions must
// still attend to nothing, as in every function with a bias.
//--- constant.mlir
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"}) -> (!t {pe.name = "o"}) {
  %bias = pe.bias_fn expr "1.0"
  %o = pe.attention %q, %k, %v bias(%bias) : (!t, !t, !t) -> !t
  return %o : !t
}
//--- zero.mlir
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"}) -> (!t {pe.name = "o"}) {
  %bias = pe.bias_fn expr "0.0"
  %o = pe.attention %q, %k, %v bias(%bias) : (!t, !t, !t) -> !t
  return %o : !t
}
//--- query.mlir
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"}) -> (!t {pe.name = "o"}) {
  %bias = pe.bias_fn expr "sqrt(1 + i * i)"
  %o = pe.attention %q, %k, %v bias(%bias) : (!t, !t, !t) -> !t
  return %o : !t
}
