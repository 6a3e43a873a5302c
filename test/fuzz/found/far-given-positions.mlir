// RUN: pe run %s --random=1 --shape=b=2,h=2,sq=9,sk=11,d=16 --grad --check --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=2,h=2,sq=9,sk=11,d=16 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=2,h=2,sq=9,sk=11,d=16 --grad --check --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}o {{.*}} ok
// CHECK: {{^}}d_base {{.*}} ok

// Near position 10^6 the terms of a base's gradient cancel and are 10^5 times larger than their sum,
// unless positions are relative to the first key's.
!t = tensor<?x?x?x?xf32>
func.func @f(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
             %base: tensor<1xf32> {pe.name = "base", pe.init = 10000.0},
             %q_pos: tensor<?x?xi32> {pe.name = "q_pos", pe.init = "integers(1000000,1000010)"},
             %k_pos: tensor<?x?xi32> {pe.name = "k_pos", pe.init = "integers(1000000,1000010)"})
    -> (!t {pe.name = "o"}) {
  %rotation = pe.rotary %base : tensor<1xf32>
  %o = pe.attention %q, %k, %v rotate(%rotation)
      positions(%q_pos, %k_pos : tensor<?x?xi32>, tensor<?x?xi32>) : (!t, !t, !t) -> !t
  return %o : !t
}
