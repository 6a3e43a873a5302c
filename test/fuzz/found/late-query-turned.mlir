// RUN: pe run %s --random=901651 --shape=b=1,h=1,hkv=1,sq=1,sk=49,d=16,dv=32 --grad --check --lowering=loops 2>&1 \
// RUN:   | FileCheck %s
// RUN: pe run %s --random=901651 --shape=b=1,h=1,hkv=1,sq=1,sk=49,d=16,dv=32 --grad --check --target=cpu 2>&1 \
// RUN:   | FileCheck %s
// RUN: pe run %s --random=901651 --shape=b=1,h=1,hkv=1,sq=1,sk=49,d=16,dv=32 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}d_base {{.*}} ok

// Most of the weight is on the query's own position, which contributes nothing to the base's gradient.
// With positions relative to the first key, the rounding error of that pair was multiplied by 48.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
             %base: tensor<f32> {pe.name = "base", pe.init = "uniform(20.0,200.0)"})
    -> (!t {pe.name = "o"}) {
  %one = pe.bias_fn expr "1.0"
  %rotation = pe.rotary %base : tensor<f32>
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%one) rotate(%rotation) mask(%mask)
      {normalizer = #pe.normalizer<stick_breaking>, attend_current} : (!t, !t, !t) -> !t
  return %o : !t
}
