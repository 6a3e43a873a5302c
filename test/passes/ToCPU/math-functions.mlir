// A stage with hundreds of cosines calls one function for them, and the code stays small: this
// program has 512 cosines per vector of rows, and as many sines in its backward.
//
// RUN: pe-opt %s --pe-prepare --pe-to-cpu="grad=1 features=x86-64-v4" -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: pe-opt %s --pe-prepare --pe-to-tile-pipeline=grad=1 --pe-schedule-cpu | FileCheck %s --check-prefix=TILE
// RUN: pe-opt %s --pe-prepare --pe-to-tile-pipeline=grad=1 --pe-schedule-gpu | FileCheck %s --check-prefix=GPU
// RUN: %python -c "import sys; n = sum(1 for _ in open(sys.argv[1])); sys.exit(n > 40000 and f'{n} lines')" %t.mlir
// RUN: timeout 60 pe run %s --random=1 --shape=b=1,h=2,sq=33,d=16 --grad --check --features=x86-64-v3 2>&1 | FileCheck %s --check-prefix=VALUE
//
// Few functions stand where they are used.
// RUN: pe-opt %examples/fire_gelu.mlir --pe-prepare --pe-to-cpu="grad=1 features=x86-64-v4" | FileCheck %s --check-prefix=FEW
// FEW-NOT: pe_math

// LLVM may hoist, share and drop the calls, and must not put the body back in their places.
// CHECK-DAG: llvm.func internal @pe_math_cos(%{{.*}}: vector<16xf32>) -> vector<16xf32> attributes {{{.*}}memory_effects = #llvm.memory_effects<other = none, argMem = none, inaccessibleMem = none{{.*}}passthrough = ["noinline"]
// CHECK-DAG: llvm.func internal @pe_math_sin(%{{.*}}: vector<16xf32>) -> vector<16xf32>
// CHECK-DAG: llvm.call @pe_math_cos
// CHECK-DAG: llvm.call @pe_math_sin

// Tiles of one key by one vector: one copy of the scalar code in place of eight.
// TILE: cpu_schedule = {{.*}}key_rows = 1 : i64{{.*}}query_vectors = 1 : i64, sweep_keys = 1 : i64
// GPU: gpu_schedule = {{.*}}inner_block = 16 : i64

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
  %y = pe.cosine_sum %x amplitude(%amp : tensor<?xf32>) {terms = 512, base = 10000.0}
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%y) mask(%mask) : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>
  return %o : tensor<?x?x?x?xf32>
}
