// RUN: pe run %s --random=0 --shape=b=1,h=1,sq=40,sk=40,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=0 --shape=b=1,h=1,sq=40,sk=40,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=0 --shape=b=1,h=1,sq=40,sk=40,d=16 --grad --check --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok
// CHECK: {{^}}d_p {{.*}} ok

// The conversion of scalar code expanded expm1 to exp(x) - 1 and log1p to log(1 + x), which are 0
// for arguments this small.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
             %p: tensor<2x?xf32> {pe.name = "p", pe.axes = ["place", "query"],
                                  pe.init = "uniform(-1,1)"})
    -> (!t {pe.name = "o"}) {
  %bias = pe.bias_fn(%p : tensor<2x?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %ps: tensor<2x?xf32>):
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %small = arith.constant 1.0e-19 : f32
    %delta = arith.subi %i, %j : index
    %whole = arith.index_cast %delta : index to i32
    %t = arith.sitofp %whole : i32 to f32
    %x = arith.mulf %t, %small : f32
    %p0 = pe.read %ps[%zero, %i] : tensor<2x?xf32>
    %p1 = pe.read %ps[%one, %i] : tensor<2x?xf32>
    %e = math.expm1 %x : f32
    %l = math.log1p %x : f32
    %a = arith.mulf %p0, %e : f32
    %c = arith.mulf %p1, %l : f32
    %sum = arith.addf %a, %c : f32
    pe.yield %sum : f32
  }
  %o = pe.attention %q, %k, %v bias(%bias) : (!t, !t, !t) -> !t
  return %o : !t
}
