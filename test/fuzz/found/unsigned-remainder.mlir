// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=3,sk=3,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=3,sk=3,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=3,sk=3,d=16 --grad --check --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok

// As an unsigned divisor, -1 is the largest integer, so the remainder is the dividend.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                %p: tensor<3xf32> {pe.name = "p", pe.init = "uniform(-0.5,1.0)"})
    -> (!t {pe.name = "o"}) {
  %bias = pe.bias_fn(%p : tensor<3xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %ps: tensor<3xf32>):
    %ones = arith.constant -1 : index
    %row = arith.remui %i, %ones : index
    %value = pe.read %ps[%row] : tensor<3xf32>
    pe.yield %value : f32
  }
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask)
      {normalizer = #pe.normalizer<stick_breaking>} : (!t, !t, !t) -> !t
  return %o : !t
}
