// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=3,sk=3,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=3,sk=3,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=1,sq=3,sk=3,d=16 --grad --check --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok

// 2^53 + 1 is not representable as a double: its remainder by 4 is 1, but that of the nearest double
// is 0.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                %p: tensor<4xf32> {pe.name = "p", pe.init = "uniform(-0.5,1.0)"})
    -> (!t {pe.name = "o"}) {
  %bias = pe.bias_fn(%p : tensor<4xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %ps: tensor<4xf32>):
    %wide = arith.constant 9007199254740993 : i64
    %four = arith.constant 4 : i64
    %position = arith.index_cast %i : index to i64
    %sum = arith.addi %wide, %position : i64
    %rest = arith.remsi %sum, %four : i64
    %row = arith.index_cast %rest : i64 to index
    %value = pe.read %ps[%row] : tensor<4xf32>
    pe.yield %value : f32
  }
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask)
      {normalizer = #pe.normalizer<stick_breaking>} : (!t, !t, !t) -> !t
  return %o : !t
}
