// Encodings of a dialect to which no pass refers are handled like pe's own.
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

// Everything compiles to machine-level IR with all gradients, by both lowerings. The mask is not an
// interval of keys: its code runs for every pair in the range of i - j that it declares.
// RUN: pe-test-opt %s --pe-prepare --pe-expand-masks | FileCheck %s --check-prefix=MASK
// MASK: %[[CODE:.*]] = pe.mask_fn {
// MASK:   arith.andi
// MASK: %[[MASK:.*]] = pe.mask_parts code(%[[CODE]]) {blocks, min = 0 : i64}
// MASK: pe.attention {{.*}} mask(%[[MASK]])
// RUN: pe-test-opt %s --pe-to-cpu=grad=1 | FileCheck %s --check-prefix=CPU
// RUN: pe-test-opt %s --pe-to-loops=grad=1 | FileCheck %s --check-prefix=CPU
// CPU-NOT: test_encodings
// CPU: llvm.func {{.*}}attention_backward
