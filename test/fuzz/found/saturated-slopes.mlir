// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=9,sk=11,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=9,sk=11,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=9,sk=11,d=16 --grad --check --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok
// CHECK-DAG: {{^}}d_x {{.*}} ok
// CHECK-DAG: {{^}}d_y {{.*}} ok
// CHECK-DAG: {{^}}d_z {{.*}} ok

// 1 - tanh(x)^2 and 1 + expm1(y) cancel where the functions saturate, and 1 - z^2 of asin and acos
// near 1.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
             %x: tensor<101xf32> {pe.name = "x", pe.init = "uniform(7.0,7.5)"},
             %y: tensor<101xf32> {pe.name = "y", pe.init = "uniform(-14.0,-13.5)"},
             %z: tensor<101xf32> {pe.name = "z", pe.init = "uniform(0.9999995,0.9999999)"})
    -> (!t {pe.name = "o"}) {
  %bias = pe.bias_fn(%x, %y, %z : tensor<101xf32>, tensor<101xf32>, tensor<101xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %xs: tensor<101xf32>, %ys: tensor<101xf32>,
       %zs: tensor<101xf32>):
    %place = arith.muli %i, %j : index
    %a = pe.read %xs[%place] : tensor<101xf32>
    %c = pe.read %ys[%place] : tensor<101xf32>
    %e = pe.read %zs[%place] : tensor<101xf32>
    %tanh = math.tanh %a : f32
    %expm1 = math.expm1 %c : f32
    %asin = math.asin %e : f32
    %acos = math.acos %e : f32
    %whole = arith.index_cast %j : index to i64
    %n = arith.sitofp %whole : i64 to f32
    %half = arith.constant 0.5 : f32
    %less = arith.mulf %acos, %half : f32
    %arcs = arith.addf %asin, %less : f32
    %curves = arith.addf %tanh, %expm1 : f32
    %sum = arith.addf %arcs, %curves : f32
    %value = arith.mulf %sum, %n : f32
    pe.yield %value : f32
  }
  %o = pe.attention %q, %k, %v bias(%bias) : (!t, !t, !t) -> !t
  return %o : !t
}
