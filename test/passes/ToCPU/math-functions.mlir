// A stage with hundreds of cosines calls one function for them, so the code stays small: this
// kernel has 512 cosines per vector of rows, and as many sines in its backward. (Sums of more than
// 16 cosines are loops.)
//
// RUN: pe-opt %s --pe-prepare --pe-to-cpu="grad=1 machine=x86-64-v4" -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: pe-opt %s --pe-prepare --pe-to-tile-pipeline=grad=1 --pe-schedule-cpu | FileCheck %s --check-prefix=TILE
// RUN: pe-opt %s --pe-prepare --pe-to-tile-pipeline=grad=1 --pe-schedule-gpu | FileCheck %s --check-prefix=GPU
// RUN: %python -c "import sys; n = sum(1 for _ in open(sys.argv[1])); sys.exit(n > 40000 and f'{n} lines')" %t.mlir
// RUN: timeout 60 pe run %s --random=1 --shape=b=1,h=2,sq=33,d=16 --grad --check --features=x86-64-v3 2>&1 \
// RUN:   | FileCheck %s --check-prefix=VALUE
//
// The sine is an odd polynomial of an angle that is reduced in f64, with the sign of the number of turns.
// RUN: FileCheck %s --check-prefix=SINE --input-file=%t.mlir
// SINE-LABEL: llvm.func internal @{{[a-z_]*}}sin(
// SINE-COUNT-3: llvm.intr.fma{{.*}}xf64>
// SINE-COUNT-4: llvm.intr.fma{{.*}}xf32>
// SINE: llvm.xor
// SINE-NEXT: llvm.bitcast
// SINE-NEXT: llvm.return
//
// A few functions are inlined.
// RUN: pe-opt %examples/fire_gelu.mlir --pe-prepare --pe-to-cpu="grad=1 machine=x86-64-v4" \
// RUN:   | FileCheck %s --check-prefix=FEW
// FEW-NOT: noinline

// LLVM may hoist, combine and drop the calls, but must not inline them.
// CHECK-DAG: llvm.func internal @[[COS:[a-z_]*cos]]({{.*}}<16xf32>{{.*}} = none, inaccessibleMem = none{{.*}}"noinline"
// CHECK-DAG: llvm.func internal @[[SIN:[a-z_]*sin]]({{.*}}<16xf32>{{.*}} = none, inaccessibleMem = none{{.*}}"noinline"
// CHECK-DAG: llvm.call @[[COS]](
// CHECK-DAG: llvm.call @[[SIN]](

// Tiles of one key by one vector have one copy of the scalar code instead of eight.
// TILE: #step.cpu<{{.*}}query_vectors = 1, key_rows = 1, {{.*}}sweep_keys = 1,
// GPU: #step.gpu<{{.*}}inner_block = 16,

// VALUE-DAG: o {{.*}} ok
// VALUE-DAG: d_c {{.*}} ok
// VALUE-DAG: d_amp {{.*}} ok
// VALUE-NOT: FAILED

func.func @f(%q: tensor<?x?x?x?xf32> {pe.name = "q"},
    %k: tensor<?x?x?x?xf32> {pe.name = "k"},
    %v: tensor<?x?x?x?xf32> {pe.name = "v"},
    %c: tensor<f32> {pe.name = "c", pe.init = "uniform(0.1,1.5)"},
    %amp: tensor<?xf32> {pe.name = "amp", pe.init = "uniform(-1,1)"}) -> (tensor<?x?x?x?xf32> {pe.name = "o"}) {
  %x = pe.progressive threshold(%c : tensor<f32>) {initial_length = 512.0, epsilon = 0.001}
  %y0 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 2.0}
  %y1 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 3.0}
  %y2 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 4.0}
  %y3 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 5.0}
  %y4 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 6.0}
  %y5 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 7.0}
  %y6 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 8.0}
  %y7 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 9.0}
  %y8 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 10.0}
  %y9 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 11.0}
  %y10 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 12.0}
  %y11 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 13.0}
  %y12 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 14.0}
  %y13 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 15.0}
  %y14 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 16.0}
  %y15 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 17.0}
  %y16 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 18.0}
  %y17 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 19.0}
  %y18 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 20.0}
  %y19 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 21.0}
  %y20 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 22.0}
  %y21 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 23.0}
  %y22 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 24.0}
  %y23 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 25.0}
  %y24 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 26.0}
  %y25 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 27.0}
  %y26 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 28.0}
  %y27 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 29.0}
  %y28 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 30.0}
  %y29 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 31.0}
  %y30 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 32.0}
  %y31 = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 16, base = 33.0}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14,
      %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22, %y23, %y24, %y25, %y26, %y27, %y28, %y29, %y30,
      %y31) mask(%mask) : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return %o : tensor<?x?x?x?xf32>
}
