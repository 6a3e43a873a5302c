// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=2,sk=2,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=2,sk=2,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=2,sk=2,d=16 --grad --check --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok

// A negative difference is above 2^31 as an unsigned integer.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"})
    -> (!t {pe.name = "o"}) {
  %bias = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %difference = arith.subi %i, %j : index
    %integer = arith.index_castui %difference : index to i32
    %number = arith.uitofp %integer : i32 to f32
    %small = arith.constant 3.6e-10 : f32
    %value = arith.mulf %number, %small : f32
    pe.yield %value : f32
  }
  %o = pe.attention %q, %k, %v bias(%bias) : (!t, !t, !t) -> !t
  return %o : !t
}
