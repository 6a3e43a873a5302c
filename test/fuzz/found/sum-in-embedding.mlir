// RUN: pe run %s --random=1 --shape=b=2,sq=5,dm=6 --grad --check --lowering=loops 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=2,sq=5,dm=6 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=2,sq=5,dm=6 --grad --check --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: {{^}}y {{.*}} ok
// CHECK: {{^}}d_w {{.*}} ok

// The cosine of a sum that reads a parameter depends on more than the position. It was precomputed
// once per position, by code that did not have the parameter.
!tokens = tensor<?x?x?xf32>
func.func @embed(%x: !tokens {pe.name = "x"},
                 %w: tensor<5xf32> {pe.name = "w", pe.init = "uniform(-0.2,0.3)"})
    -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn(%w : tensor<5xf32>) expr "cos(sum(m < 5, w[m] * p)) * d"
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}
