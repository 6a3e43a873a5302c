// RUN: pe run %s --random=70084 --shape=b=1,h=6,hkv=3,sq=64,sk=2,d=16,dv=16 --q-start=11 --k-start=-35 --grad --check \
// RUN:   --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=70084 --shape=b=1,h=6,hkv=3,sq=64,sk=2,d=16,dv=16 --q-start=11 --k-start=-35 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok
// CHECK: {{^}}d_p0 {{.*}} ok

// A function of the distance without parameters per head: after the stream no work per head remains.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
             %p0: tensor<1xf32> {pe.name = "p0", pe.init = "uniform(-1.0,1.0)"})
    -> (!t {pe.name = "o"}) {
  %x1 = pe.relative
  %x2 = pe.cosine_sum %x1 amplitude(%p0 : tensor<1xf32>) {terms = 3, base = 1.0e+01}
  %x4 = pe.causal
  %o = pe.attention %q, %k, %v bias(%x2) mask(%x4) {scale = 0.125} : (!t, !t, !t) -> !t
  return %o : !t
}
