// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=1,sk=2,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=1,sk=2,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=1,sk=2,d=16 --grad --check --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok

// A 32-bit -1 is 2^32 - 1 as an unsigned integer. Stick-breaking, unlike softmax, is not invariant to
// a constant bias.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                %p: tensor<f32> {pe.name = "p", pe.init = "uniform(-0.5,0.5)"})
    -> (!t {pe.name = "o"}) {
  %constant = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %ones = arith.constant -1 : i32
    %number = arith.uitofp %ones : i32 to f32
    %small = arith.constant 2.5e-10 : f32
    %value = arith.mulf %number, %small : f32
    pe.yield %value : f32
  }
  %learned = pe.bias_fn(%p : tensor<f32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %ps: tensor<f32>):
    %value = pe.read %ps[] : tensor<f32>
    pe.yield %value : f32
  }
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%constant, %learned) mask(%mask)
      {normalizer = #pe.normalizer<stick_breaking>} : (!t, !t, !t) -> !t
  return %o : !t
}
