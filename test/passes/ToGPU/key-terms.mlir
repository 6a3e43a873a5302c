// Learned terms of keys and of queries, whose gradients are sums over the pairs of a column or a
// row.
// They are added immediately if columns own the kernel, and in turns if rows do.
//
// RUN: pe run %s --entry=table --random=1 --shape=b=2,h=4,hkv=2,sq=70,sk=130,d=16 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: pe run %s --entry=table --random=2 --shape=b=1,h=2,sq=33,d=16 --q-start=3 --k-start=5 --grad --check \
// RUN:   --target=gpu-emulator --dtype=bf16 2>&1 | FileCheck %s --check-prefix=TABLE
// TABLE: d_t {{.*}} ok
// TABLE-NOT: FAIL
// RUN: pe run %s --entry=table_stick --random=1 --shape=b=1,h=4,hkv=2,sq=70,sk=130,d=16 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: pe run %s --entry=table_stick --random=1 --shape=b=1,h=2,sq=200,d=16 --grad --check --target=gpu-emulator \
// RUN:   --dtype=tf32 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: pe run %s --entry=both --random=1 --shape=b=1,h=4,hkv=2,sq=65,sk=97,d=16 --q-start=-3 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: pe run %s --entry=both_stick --random=1 --shape=b=1,h=4,hkv=2,sq=65,sk=97,d=16 --grad --check \
// RUN:   --target=gpu-emulator --dtype=f16 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: d_a {{.*}} ok
// BOTH-NOT: FAIL
!t = tensor<?x?x?x?xf32>

func.func @table(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                 %t: tensor<64xf32> {pe.name = "t", pe.init = "normal(1)"}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%t : tensor<64xf32>) expr "t[min(j, 63)]"
  %o = pe.attention %q, %k, %v bias(%b) : (!t, !t, !t) -> !t
  return %o : !t
}

func.func @table_stick(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                       %t: tensor<64xf32> {pe.name = "t", pe.init = "normal(1)"}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%t : tensor<64xf32>) expr "t[min(j, 63)]"
  %m = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) {normalizer = #pe.normalizer<stick_breaking>} : (!t, !t, !t) -> !t
  return %o : !t
}

func.func @both(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                %a: tensor<?xf32> {pe.name = "a", pe.init = 0.1}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%a : tensor<?xf32>) expr "a[h] * sqrt(1.0*j*j + 1.0) - a[h] * sqrt(1.0*i*i + 1.0)"
  %m = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

func.func @both_stick(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                      %a: tensor<?xf32> {pe.name = "a", pe.init = 0.1}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%a : tensor<?xf32>) expr "sin(a[h] * j) + cos(a[h] * i) + 0.1*sin(a[h]*j*i)"
  %m = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) {normalizer = #pe.normalizer<stick_breaking>} : (!t, !t, !t) -> !t
  return %o : !t
}
