// A long sum of cosines is a loop of fixed code size: the code of 4096 terms is as short as that of
// 17. Up to 16 terms are unrolled. Covers values and gradients of the coordinate and the amplitude.
//
// RUN: pe-opt %s --pe-prepare --pe-to-tile-pipeline=grad=1 | FileCheck %s --check-prefix=TILE
// RUN: sed 's/terms = 4096/terms = 16/' %s | pe-opt --pe-prepare --pe-to-tile-pipeline \
// RUN:   | FileCheck %s --check-prefix=SHORT
// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=17,sk=19,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=17,sk=19,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=17,sk=19,d=16 --grad --check --target=gpu-emulator 2>&1 | FileCheck %s

// TILE:     scf.for %{{.*}} to %{{.*}} step {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %[[FREQUENCY:.*]] = %{{[^)]+}})
// TILE-SAME: -> (f32, f64)
// TILE:       %[[NARROW:.*]] = arith.truncf %[[FREQUENCY]] : f64 to f32
// TILE:       %[[ANGLE:.*]] = arith.mulf %[[NARROW]]
// TILE:       %[[TERM:.*]] = math.cos %[[ANGLE]]
// TILE:       arith.addf %[[SUM]], %[[TERM]]
// TILE:       arith.mulf %[[FREQUENCY]]
// TILE:     math.sin

// SHORT-NOT: scf.for
// SHORT-COUNT-16: math.cos
// SHORT-NOT: math.cos

// CHECK-DAG: {{^}}o {{.*}} ok
// CHECK-DAG: {{^}}d_c {{.*}} ok
// CHECK-DAG: {{^}}d_a {{.*}} ok

!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
             %c: tensor<f32> {pe.name = "c", pe.init = 0.7},
             %a: tensor<?xf32> {pe.name = "a", pe.init = "uniform(-0.01,0.01)"}) -> (!t {pe.name = "o"}) {
  %x = pe.progressive threshold(%c : tensor<f32>) {initial_length = 512.0, epsilon = 0.001}
  %b = pe.cosine_sum %x amplitude(%a : tensor<?xf32>) {terms = 4096, base = 10000.0}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%mask) : (!t, !t, !t) -> !t
  return %o : !t
}
