// RUN: pe run %s --random=902705 --shape=b=1,h=3,hkv=1,sq=1,sk=32,d=64,dv=32 --grad --check --lowering=loops 2>&1 \
// RUN:   | FileCheck %s
// RUN: pe run %s --random=902705 --shape=b=1,h=3,hkv=1,sq=1,sk=32,d=64,dv=32 --grad --check --target=cpu 2>&1 \
// RUN:   | FileCheck %s
// RUN: pe run %s --random=902705 --shape=b=1,h=3,hkv=1,sq=1,sk=32,d=64,dv=32 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}d_p0 {{.*}} ok

// A score function that reads its capture's size but none of its elements: nothing is added to the
// capture's gradient, and no map without inputs and results may remain.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
             %p0: tensor<64x?xf32> {pe.name = "p0", pe.init = "uniform(-1.0,1.0)"})
    -> (!t {pe.name = "o"}) {
  %s = pe.score_fn(%p0 : tensor<64x?xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %p0_: tensor<64x?xf32>):
    %size = pe.axis_size %p0_, 1 : tensor<64x?xf32>
    %wide = arith.index_cast %size : index to i32
    %number = arith.uitofp %wide : i32 to f32
    %sine = math.sin %number : f32
    pe.yield %sine : f32
  }
  %o = pe.attention %q, %k, %v score(%s) : (!t, !t, !t) -> !t
  return %o : !t
}
