// After pe-prepare the entry is the only function, and private functions are inlined; nothing else
// changes, not even code that canonicalization would fold.
// RUN: pe-opt %s --pe-prepare=entry=attention | FileCheck %s

!qkv = tensor<?x?x?x?xf32>

// CHECK-NOT: func private
func.func private @recency(%s: tensor<?xf32>) -> (!pe.bias, !pe.mask) {
  %x = pe.distance
  %b = pe.linear %x slope(%s : tensor<?xf32>)
  %c = pe.scale %b {factor = 1.0}
  %m = pe.causal
  return %c, %m : !pe.bias, !pe.mask
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %s: tensor<?xf32> {pe.name = "s"})
    -> (!qkv {pe.name = "o"}) {
  // CHECK-NEXT: %[[X:.*]] = pe.distance
  // CHECK-NEXT: %[[B:.*]] = pe.linear %[[X]]
  // CHECK-NEXT: %[[C:.*]] = pe.scale %[[B]]
  // CHECK-NEXT: %[[M:.*]] = pe.causal
  // CHECK-NEXT: pe.attention %{{.*}} bias(%[[C]]) mask(%[[M]])
  %b, %m = call @recency(%s) : (tensor<?xf32>) -> (!pe.bias, !pe.mask)
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// CHECK-NOT: func.func @other
func.func @other(%q: !qkv {pe.name = "q"}) { return }
