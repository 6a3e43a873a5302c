// RUN: not pe-opt %s --pe-to-tile="head-dim=8" 2>&1 | FileCheck %s
// Errors that depend on the chosen depth are reported at the user's line.
!t = tensor<?x?x?x?xf32>
func.func @attention(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"})
    -> (!t {pe.name = "o"}) {
  %r = pe.rotary {rotary_dims = 16}
  // CHECK: errors.mlir:[[# @LINE + 1]]:8: error: {{.*}}head dim 8, found 16
  %o = pe.attention %q, %k, %v rotate(%r) : (!t, !t, !t) -> !t
  return %o : !t
}
