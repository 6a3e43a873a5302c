// RUN: pe run %s --random=11 --shape=b=1,h=2,sq=70,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=11 --shape=b=1,h=2,sq=70,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=11 --shape=b=1,h=2,sq=70,d=16 --grad --check --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}d_p1 {{.*}} ok

// The final activation of the network is a cosine, which code without pieces computes in f32.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"},
    %k: !t {pe.name = "k"},
    %v: !t {pe.name = "v"},
    %p1: tensor<4xf32> {pe.name = "p1", pe.init = "uniform(-1.0,1.0)"},
    %p2: tensor<4xf32> {pe.name = "p2", pe.init = "uniform(-1.0,1.0)"},
    %p3: tensor<?x4xf32> {pe.name = "p3", pe.init = "uniform(-0.5,0.5)"},
    %p4: tensor<?xf32> {pe.name = "p4", pe.init = "uniform(-0.5,0.5)"})
    -> (!t {pe.name = "o"}) {
  %x1 = pe.progressive {initial_length = 512.0, epsilon = 1.0e-06}
  %x2 = pe.mlp %x1 layers(%p1, %p2, %p3, %p4 : tensor<4xf32>, tensor<4xf32>, tensor<?x4xf32>, tensor<?xf32>)
      {activation = #pe.activation<tanh>, final_activation = #pe.activation<cos>}
  %o = pe.attention %q, %k, %v bias(%x2) : (!t, !t, !t) -> !t
  return %o : !t
}
