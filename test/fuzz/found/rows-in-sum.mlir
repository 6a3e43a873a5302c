// RUN: pe run %s --random=1 --shape=b=1,sq=7,dm=4,rows=7 --grad --check --target=cpu 2>&1 | FileCheck %s
// RUN: pe run %s --random=1 --shape=b=1,sq=7,dm=4,rows=9 --q-start=2 --grad --check --lowering=loops 2>&1 \
// RUN:   | FileCheck %s
// RUN: not pe run %s --random=1 --shape=b=1,sq=7,dm=4,rows=6 --target=cpu 2>&1 | FileCheck %s --check-prefix=SHORT
// RUN: not pe run %s --random=1 --shape=b=1,sq=7,dm=4,rows=7 --q-start=1 --target=gpu-emulator 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SHORT
// CHECK: {{^}}y {{.*}} ok
// SHORT: rows of tensor 'table', one per position

// A table that a sum reads at the position also needs a row for every position.
!tokens = tensor<?x?x?xf32>
func.func @embed(%x: !tokens {pe.name = "x"},
                 %table: tensor<?x3xf32> {pe.name = "table", pe.axes = ["rows", "parts"],
                                          pe.init = "normal(1)"})
    -> (!tokens {pe.name = "y"}) {
  %e = pe.embedding_fn(%table : tensor<?x3xf32>) expr "sum(m < 3, table[p, m] * (d + m))"
  %y = pe.embed %x, %e : !tokens
  return %y : !tokens
}
