// Encodings of a dialect that no pass knows are handled like pe's own.
// RUN: pe-test-opt %s --verify-roundtrip --pe-prepare --pe-expand-biases | FileCheck %s
// RUN: not pe-opt %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: Dialect `test_encodings' not found

!qkv = tensor<?x?x?x?xf32>

// CHECK-LABEL: func.func @attention
func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %s: tensor<?xf32> {pe.name = "s"})
    -> (!qkv {pe.name = "o"}) {
  // CHECK:     %[[F:.*]] = pe.bias_fn(%{{.*}} : tensor<?xf32>) {
  // CHECK:       %[[ROOT:.*]] = math.sqrt
  // CHECK:       arith.mulf %[[ROOT]], %[[ROOT]]
  // CHECK:       math.exp
  // CHECK:       pe.yield
  // CHECK-NOT: test_encodings.bump
  %x = test_encodings.square_root_distance
  %b = test_encodings.bump %x height(%s : tensor<?xf32>)
  // CHECK:     %[[R:.*]] = test_encodings.slow_rotation
  %r = test_encodings.slow_rotation
  // CHECK:     %[[M:.*]] = test_encodings.even
  %m = test_encodings.even
  // CHECK:     pe.attention {{.*}} bias(%[[F]]) rotate(%[[R]]) mask(%[[M]])
  %o = pe.attention %q, %k, %v bias(%b) rotate(%r) mask(%m)
      {normalizer = #pe.normalizer<stick_breaking>} : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// A mask that is not a range of i - j has no lowering yet, and is refused; everything else compiles
// to machine-level IR with all gradients, by both lowerings.
// RUN: not pe-test-opt %s --pe-to-cpu=grad=1 2>&1 | FileCheck %s --check-prefix=MASK
// MASK: error: expected a mask that keeps an interval of keys for every query
// RUN: sed 's/test_encodings.even/pe.causal/' %s > %t.mlir
// RUN: pe-test-opt %t.mlir --pe-to-cpu=grad=1 | FileCheck %s --check-prefix=CPU
// RUN: pe-test-opt %t.mlir --pe-to-loops=grad=1 | FileCheck %s --check-prefix=CPU
// CPU-NOT: test_encodings
// CPU: llvm.func {{.*}}attention_backward
