// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=5,sk=7,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=5,sk=7,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=5,sk=7,d=16 --grad --check --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok
// CHECK: d_p {{.*}} ok

// A function that does not read the score: the product of queries and keys was erased because the
// function's map does not use it, but the gradient's map does.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
             %p: tensor<?xf32> {pe.name = "p", pe.init = "uniform(0.5,1.0)"})
    -> (!t {pe.name = "o"}) {
  %score = pe.score_fn(%p : tensor<?xf32>) expr "p[h]"
  %o = pe.attention %q, %k, %v score(%score) : (!t, !t, !t) -> !t
  return %o : !t
}
