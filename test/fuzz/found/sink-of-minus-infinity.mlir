// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=70,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=70,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=70,d=16 --grad --check --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}d_g {{.*}} ok

// The sink of the first query is log(0). A sink of minus infinity has no effect, so that row adds nothing
// to the gradient of its parameters, not 0 times infinity.
!t = tensor<?x?x?x?xf32>
func.func @attention(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                     %g: tensor<?xf32> {pe.name = "g", pe.init = 1.0}) -> (!t {pe.name = "o"}) {
  %s = pe.sink_fn(%g : tensor<?xf32>) expr "g[h] * log(i)"
  %m = pe.causal
  %o = pe.attention %q, %k, %v sink(%s) mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}
