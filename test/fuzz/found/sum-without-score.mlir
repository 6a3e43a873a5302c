// RUN: pe run %s --random=1 --shape=b=1,h=2,hkv=1,sq=5,sk=7,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=2,hkv=1,sq=5,sk=7,d=16 --grad --check --target=gpu-emulator 2>&1 \
// RUN:   | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=2,hkv=1,sq=5,sk=7,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok
// CHECK: {{^}}d_p {{.*}} ok

// The loop that accumulates gradients is the first use of the mask in the block.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
             %p: tensor<11x?xf32> {pe.name = "p", pe.init = "uniform(-0.2,0.1)"})
    -> (!t {pe.name = "o"}) {
  %score = pe.score_fn(%p : tensor<11x?xf32>) expr "sum(n < 3, p[n, h] * (i - j))"
  %o = pe.attention %q, %k, %v score(%score) : (!t, !t, !t) -> !t
  return %o : !t
}
