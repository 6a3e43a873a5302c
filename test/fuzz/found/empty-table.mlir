// RUN: pe run %s --random=1 --shape=b=0,h=1,hkv=1,sq=3,sk=3,d=16 --grad --check --target=gpu-emulator 2>&1 \
// RUN:   | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=0,h=1,hkv=1,sq=3,sk=3,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=0,h=1,hkv=1,sq=3,sk=3,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok

// Reads a table without elements in a stage whose work items do not depend on the batch.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
             %p: tensor<?x?xf32> {pe.name = "p", pe.init = "uniform(0.3,1.4)", pe.axes = ["batch", "key"]})
    -> (!t {pe.name = "o"}) {
  %bias = pe.bias_fn(%p : tensor<?x?xf32>) expr "p[0, i]"
  %o = pe.attention %q, %k, %v bias(%bias) : (!t, !t, !t) -> !t
  return %o : !t
}
