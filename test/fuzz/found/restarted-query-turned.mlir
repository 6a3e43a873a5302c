// RUN: pe run %s --random=901905 --shape=b=1,h=6,hkv=3,sq=1,sk=40,d=40,dv=32,boundaries=3 --q-start=25 --grad --check \
// RUN:   --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=901905 --shape=b=1,h=6,hkv=3,sq=1,sk=40,d=40,dv=32,boundaries=3 --q-start=25 --grad --check \
// RUN:   --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=901905 --shape=b=1,h=6,hkv=3,sq=1,sk=40,d=40,dv=32,boundaries=3 --q-start=25 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}d_base {{.*}} ok

// Like late-query-turned.mlir, but the last key is in another document: the base's gradient must use
// positions relative to the last query.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
             %p0: tensor<?xi32> {pe.name = "p0", pe.init = "integers(0,40)", pe.axes = ["boundaries"]},
             %base: tensor<f32> {pe.name = "base", pe.init = "uniform(20.0,200.0)"})
    -> (!t {pe.name = "o"}) {
  %x3 = pe.bias_fn expr "9.0"
  %x27 = pe.rotary %base : tensor<f32> {scaling = #pe.rope_scaling<linear, factor = 4.0>}
  %x28 = pe.documents %p0 : tensor<?xi32> {restart = true}
  %o = pe.attention %q, %k, %v bias(%x3) rotate(%x27) mask(%x28)
      {normalizer = #pe.normalizer<stick_breaking>, attend_current, remainder = #pe.remainder<value>,
      direction = #pe.direction<both>} : (!t, !t, !t) -> !t
  return %o : !t
}
