// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=5,sk=7,d=16 --q-start=126 --k-start=124 --grad --check \
// RUN:   --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=5,sk=7,d=16 --q-start=126 --k-start=124 --grad --check \
// RUN:   --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=5,sk=7,d=16 --q-start=126 --k-start=124 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok

// Positions above 127 wrap around in 8 bits, and widening them again does not restore them.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"})
    -> (!t {pe.name = "o"}) {
  %bias = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %row = arith.index_cast %i : index to i8
    %column = arith.index_cast %j : index to i8
    %i8 = arith.index_cast %row : i8 to index
    %j8 = arith.index_cast %column : i8 to index
    %product = arith.muli %i8, %j8 : index
    %whole = arith.index_cast %product : index to i64
    %wide = arith.sitofp %whole : i64 to f32
    %scale = arith.constant 6.103515625e-5 : f32
    %value = arith.mulf %wide, %scale : f32
    pe.yield %value : f32
  }
  %o = pe.attention %q, %k, %v bias(%bias) : (!t, !t, !t) -> !t
  return %o : !t
}
