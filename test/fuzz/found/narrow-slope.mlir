// RUN: pe run %s --random=19 --shape=b=1,h=1,hkv=1,sq=12,sk=12,d=16,boundaries=3 --grad --check --target=gpu-emulator \
// RUN:   --dtype=bf16 2>&1 | FileCheck %s
// CHECK: {{^}}d_s {{.*}} ok

// The terms of a slope's gradient nearly cancel over the rows; the rounding errors of the outputs do not.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
             %s: tensor<?xf32> {pe.name = "s", pe.init = "uniform(0.05,0.4)"},
             %cu: tensor<?xi32> {pe.name = "cu", pe.axes = ["boundaries"]}) -> (!t {pe.name = "o"}) {
  %d = pe.distance
  %b = pe.linear %d slope(%s : tensor<?xf32>) {factor = -1.0}
  %causal = pe.causal
  %docs = pe.documents %cu : tensor<?xi32> {restart = true}
  %m = pe.mask_and %causal, %docs
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}
