// RUN: pe run %s --random=700528 --shape=b=1,h=3,hkv=1,sq=32,sk=40,d=40,dv=40,boundaries=3 --k-start=8 --head-start=3 \
// RUN:   --heads-total=12 --grad --check --lowering=loops --dtype=f16 2>&1 | FileCheck %s
// RUN: pe run %s --random=700528 --shape=b=1,h=3,hkv=1,sq=32,sk=40,d=40,dv=40,boundaries=3 --k-start=8 --head-start=3 \
// RUN:   --heads-total=12 --grad --check --target=gpu-emulator --dtype=f16 2>&1 | FileCheck %s
// CHECK: {{^}}d_base {{.*}} ok

// Gradients of rotated rows are rounded to f16 before they are summed into the base's gradient, in which
// they nearly cancel. The error bound includes that rounding.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
             %cu: tensor<?xi32> {pe.name = "cu", pe.init = "integers(0,48)",
                                 pe.axes = ["boundaries"]},
             %base: tensor<f32> {pe.name = "base", pe.init = "uniform(20.0,200.0)"})
    -> (!t {pe.name = "o"}) {
  %distance = pe.distance
  %bias = pe.cosine_sum %distance {terms = 2, base = 5.0e+05}
  %rotation = pe.rotary %base : tensor<f32>
  %window = pe.sliding_window {left = 33}
  %documents = pe.documents %cu : tensor<?xi32> {restart = true}
  %mask = pe.mask_and %window, %documents
  %o = pe.attention %q, %k, %v bias(%bias) rotate(%rotation) mask(%mask)
      {normalizer = #pe.normalizer<stick_breaking>, attend_current,
       remainder = #pe.remainder<value>, direction = #pe.direction<both>} : (!t, !t, !t) -> !t
  return %o : !t
}
