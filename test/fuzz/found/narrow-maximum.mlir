// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=1,sk=2,d=16 --k-start=128 --grad --check --lowering=loops 2>&1 \
// RUN:   | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=1,sk=2,d=16 --k-start=128 --grad --check --target=cpu 2>&1 \
// RUN:   | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=1,sk=2,d=16 --k-start=128 --grad --check --target=gpu-emulator 2>&1 \
// RUN:   | FileCheck %s
// CHECK: {{^}}o {{.*}} ok

// A maximum of 8-bit integers: position 128 wraps to -128.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"})
    -> (!t {pe.name = "o"}) {
  %bias = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %narrow = arith.index_castui %j : index to i8
    %one = arith.constant 1 : i8
    %maximum = arith.maxsi %narrow, %one : i8
    %wide = arith.sitofp %maximum : i8 to f64
    %value = arith.truncf %wide : f64 to f32
    pe.yield %value : f32
  }
  %o = pe.attention %q, %k, %v bias(%bias) : (!t, !t, !t) -> !t
  return %o : !t
}
