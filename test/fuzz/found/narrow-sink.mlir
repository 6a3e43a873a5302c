// RUN: pe run %s --random=4092 --shape=b=1,h=3,hkv=3,sq=5,sk=5,d=24,dv=24 --grad --check --target=gpu-emulator \
// RUN:   --dtype=bf16 2>&1 | FileCheck %s
// CHECK: {{^}}d_p0 {{.*}} ok

// The gradient of a sink is one value that sums the rounding errors of five outputs. The bound is derived
// from their sizes, because they cancel in the reference's own evaluation.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"},
    %k: !t {pe.name = "k"},
    %v: !t {pe.name = "v"},
    %p0: tensor<?xf32> {pe.name = "p0", pe.init = "uniform(-2.0,4.0)"})
    -> (!t {pe.name = "o"}) {
  %x1 = pe.relative
  %x2 = pe.bias_fn(%x1 : !pe.coordinate) expr "log((abs(log1p((abs((x1 * 0.03125)) + 0.25))) + 0.25))"
  %x3 = pe.sliding_window {left = 128, right = 33}
  %o = pe.attention %q, %k, %v bias(%x2) sink(%p0 : tensor<?xf32>) mask(%x3) : (!t, !t, !t) -> !t
  return %o : !t
}
