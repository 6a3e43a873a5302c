// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=5,sk=7,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=5,sk=7,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=5,sk=7,d=16 --grad --check --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok

// A parameter that is converted to f64 and back has a gradient.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                %p: tensor<1xf32> {pe.name = "p", pe.init = "uniform(-1,0.5)"})
    -> (!t {pe.name = "o"}) {
  %bias = pe.bias_fn(%p : tensor<1xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %ps: tensor<1xf32>):
    %integer = arith.index_cast %i : index to i32
    %number = arith.sitofp %integer : i32 to f32
    %parameter = pe.read %ps[%j] : tensor<1xf32>
    %wide = arith.extf %parameter : f32 to f64
    %narrow = arith.truncf %wide : f64 to f32
    %one = arith.constant 1.0 : f32
    %value = math.fma %number, %narrow, %one : f32
    pe.yield %value : f32
  }
  %o = pe.attention %q, %k, %v bias(%bias) : (!t, !t, !t) -> !t
  return %o : !t
}
