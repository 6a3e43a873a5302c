// RUN: pe run %s --random=901712 --shape=b=3,h=6,hkv=3,sq=1,sk=1,d=16 --grad --check --target=gpu-emulator \
// RUN:   --dtype=tf32 2>&1 | FileCheck %s
// CHECK: {{^}}d_k {{.*}} ok
// CHECK: {{^}}d_q {{.*}} ok

// With one key the gradients of q and k are 0 up to rounding: the output is the value times 1 / (1 - p) in
// tf32, and the gradient of a score is the cotangent of the weight times 1 / (1 - p) in f32, minus the
// product of the output and its cotangent. The bound did not include that rounding.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
             %seed: tensor<?xi64> {pe.name = "seed"}) -> (!t {pe.name = "o"}) {
  %o = pe.attention %q, %k, %v dropout(0.17656998336315155, %seed : tensor<?xi64>) : (!t, !t, !t) -> !t
  return %o : !t
}
