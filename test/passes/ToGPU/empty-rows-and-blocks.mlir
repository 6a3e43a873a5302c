// Masks that leave rows, blocks or all pairs empty. Both directions of the relation between
// visiting blocks agree, so no CTA waits for a turn that is never taken (dialect/Math/KeptPairs.h).
// Cases: queries before the first key, more queries than keys, and one row or key in the last
// block.
//
// RUN: pe run %s --entry=diagonal --random=1 --shape=b=1,h=2,sq=129,sk=33,d=16 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s
// RUN: pe run %s --entry=nothing --random=1 --shape=b=1,h=2,sq=129,sk=33,d=16 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s
// RUN: pe run %s --entry=nothing --random=2 --shape=b=1,h=2,sq=65,d=16 --grad --check --target=gpu-emulator \
// RUN:   --dtype=bf16 2>&1 | FileCheck %s
// RUN: pe run %s --entry=nothing_softmax --random=1 --shape=b=1,h=2,hkv=1,sq=65,d=16 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s
// RUN: pe run %s --entry=near --random=1 --shape=b=1,h=2,hkv=1,sq=193,sk=65,d=16 --q-start=-70 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s
// RUN: pe run %s --entry=near --random=1 --shape=b=1,h=1,sq=65,sk=129,d=16 --q-start=60 --k-start=-9 --grad --check \
// RUN:   --target=gpu-emulator --dtype=tf32 2>&1 | FileCheck %s
// RUN: pe run %s --entry=right --random=1 --shape=b=1,h=2,sq=130,sk=65,d=16 --q-start=-70 --k-start=20 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s
// RUN: pe run %s --entry=right --random=1 --shape=b=1,h=2,sq=33,sk=1,d=16 --k-start=40 --grad --check \
// RUN:   --target=gpu-emulator --dtype=f16 2>&1 | FileCheck %s
// RUN: pe run %s --entry=table --random=1 --shape=b=1,h=2,sq=200,sk=129,d=16 --q-start=-3 --grad --check \
// RUN:   --target=gpu-emulator 2>&1 | FileCheck %s
// Rows and keys whose positions are at the largest possible distance.
// RUN: pe run %s --entry=far --random=1 --shape=b=1,h=2,sq=65,d=16 --q-start=1073700000 --k-start=-1073700000 --grad \
// RUN:   --check --target=gpu-emulator 2>&1 | FileCheck %s
// RUN: pe run %s --entry=far --random=1 --shape=b=1,h=2,sq=65,d=16 --q-start=-1073700000 --k-start=1073700000 --grad \
// RUN:   --check --target=gpu-emulator 2>&1 | FileCheck %s
// CHECK: o {{.*}} ok
// CHECK-NEXT: d_k {{.*}} ok
// CHECK-NEXT: d_q {{.*}} ok
!t = tensor<?x?x?x?xf32>

// Stick-breaking excludes a query's own position: the row is empty, but not because of the mask.
func.func @diagonal(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"}) -> (!t {pe.name = "o"}) {
  %a = pe.causal
  %w = pe.sliding_window {left = 1}
  %m = pe.mask_and %a, %w
  %o = pe.attention %q, %k, %v mask(%m) {normalizer = #pe.normalizer<stick_breaking>} : (!t, !t, !t) -> !t
  return %o : !t
}

func.func @nothing(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"}) -> (!t {pe.name = "o"}) {
  %a = pe.strict_causal
  %w = pe.sliding_window {left = 1}
  %m = pe.mask_and %a, %w
  %o = pe.attention %q, %k, %v mask(%m) {normalizer = #pe.normalizer<stick_breaking>} : (!t, !t, !t) -> !t
  return %o : !t
}

func.func @nothing_softmax(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"})
    -> (!t {pe.name = "o"}) {
  %a = pe.strict_causal
  %w = pe.sliding_window {left = 1}
  %m = pe.mask_and %a, %w
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

func.func @near(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"}) -> (!t {pe.name = "o"}) {
  %a = pe.causal
  %w = pe.sliding_window {left = 3}
  %m = pe.mask_and %a, %w
  %o = pe.attention %q, %k, %v mask(%m) {normalizer = #pe.normalizer<stick_breaking>} : (!t, !t, !t) -> !t
  return %o : !t
}

func.func @right(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"}) -> (!t {pe.name = "o"}) {
  %m = pe.sliding_window {left = 3, right = 7}
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

func.func @table(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                 %t: tensor<200xf32> {pe.name = "t", pe.init = "normal(1)"}) -> (!t {pe.name = "o"}) {
  %a = pe.causal
  %w = pe.sliding_window {left = 37}
  %m = pe.mask_and %a, %w
  %b = pe.bias_fn(%t : tensor<200xf32>) expr "t[min(i - j, 199)]"
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}

func.func @far(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"}) -> (!t {pe.name = "o"}) {
  %a = pe.causal
  %w = pe.sliding_window {left = 2147480000}
  %m = pe.mask_and %a, %w
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}
