// RUN: pe run %s --random=2662 --shape=b=1,h=1,sq=5,sk=33,d=64,dv=24 --q-start=65536 --k-start=-13 --grad --check \
// RUN:   --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=2662 --shape=b=1,h=1,sq=5,sk=33,d=64,dv=24 --q-start=65536 --k-start=-13 --grad --check \
// RUN:   --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=2662 --shape=b=1,h=1,sq=5,sk=33,d=64,dv=24 --q-start=65536 --k-start=-13 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}d_c {{.*}} ok

// If every key is 65 000 positions before its query, n and m of t = log(1 + c n) / log(1 + c m) differ by
// less than 0.1 %, and so do the two terms of dt/dc: their difference has three digits in float32. The error
// bound accounts for cancellation within the derivative at one pair.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
             %c: tensor<f32> {pe.name = "c", pe.init = "uniform(0.05,1.0)"},
             %threshold: tensor<1xf32> {pe.name = "threshold", pe.init = "uniform(0.1,1.5)"},
             %amplitude: tensor<1xf32> {pe.name = "amplitude", pe.init = "uniform(-1.0,1.0)"})
    -> (!t {pe.name = "o"}) {
  %t = pe.progressive c(%c : tensor<f32>) threshold(%threshold : tensor<1xf32>)
      {initial_length = 512.0, epsilon = 1.0e-06}
  %bias = pe.cosine_sum %t amplitude(%amplitude : tensor<1xf32>) {terms = 4, base = 1.0e+01}
  %mask = pe.mask_fn expr "j <= i or j < (11)"
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!t, !t, !t) -> !t
  return %o : !t
}
