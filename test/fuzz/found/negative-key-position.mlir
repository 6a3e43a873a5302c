// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=3,sk=5,d=16 --k-start=-3 --q-start=0 --grad --check \
// RUN:   --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=3,sk=5,d=16 --k-start=-3 --q-start=0 --grad --check --target=cpu 2>&1 \
// RUN:   | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=3,sk=5,d=16 --k-start=-3 --q-start=0 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok

// Keys can have negative positions, so |j| does not fold to j.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"})
    -> (!t {pe.name = "o"}) {
  %distance = pe.distance
  %near = pe.cosine_sum %distance {terms = 1, base = 10.0}
  %key = pe.bias_fn expr "abs(j * 0.5) - 2 * max(j * 0.5, -0.5)"
  %bias = pe.add %near, %key
  %o = pe.attention %q, %k, %v bias(%bias) : (!t, !t, !t) -> !t
  return %o : !t
}
