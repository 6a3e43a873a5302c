// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=70,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=70,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,h=2,sq=70,d=16 --grad --check --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok
// CHECK-DAG: {{^}}d_c {{.*}} ok
// CHECK-DAG: {{^}}d_w1 {{.*}} ok
// CHECK-DAG: {{^}}d_b2 {{.*}} ok

// The normalizer of row 0 is 1e-6, although the row has no key. The range of the coordinate therefore
// reached 1e6, and the points at which pieces are compared with the network missed the interval [0, 1].
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
             %c: tensor<?xf32> {pe.name = "c", pe.init = "uniform(0.05,1.0)"},
             %w1: tensor<9xf32> {pe.name = "w1", pe.init = "uniform(-4.0,4.0)"},
             %b1: tensor<9xf32> {pe.name = "b1", pe.init = "uniform(-2.0,2.0)"},
             %w2: tensor<?x9xf32> {pe.name = "w2", pe.init = "uniform(-1.0,1.0)"},
             %b2: tensor<?xf32> {pe.name = "b2", pe.init = "uniform(-1.0,1.0)"})
    -> (!t {pe.name = "o"}) {
  %t = pe.progressive c(%c : tensor<?xf32>)
  %bias = pe.mlp %t layers(%w1, %b1, %w2, %b2 : tensor<9xf32>, tensor<9xf32>, tensor<?x9xf32>, tensor<?xf32>)
      {activation = #pe.activation<gelu>}
  %mask = pe.strict_causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!t, !t, !t) -> !t
  return %o : !t
}
