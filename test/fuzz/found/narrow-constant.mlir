// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=1,sk=2,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=1,sk=2,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=1,sk=2,d=16 --grad --check --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok

// The constant 256 wraps to 0 in 8 bits, also when it is folded.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"})
    -> (!t {pe.name = "o"}) {
  %bias = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %number = arith.constant 256 : index
    %narrow = arith.index_cast %number : index to i8
    %value = arith.uitofp %narrow : i8 to f32
    pe.yield %value : f32
  }
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask)
      {normalizer = #pe.normalizer<stick_breaking>} : (!t, !t, !t) -> !t
  return %o : !t
}
