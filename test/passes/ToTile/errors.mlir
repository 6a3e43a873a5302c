// RUN: pe-opt %s --split-input-file --verify-diagnostics --pe-to-tile="head-dim=12"

!t = tensor<?x?x?x?xf32>
func.func @attention(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"})
    -> (!t {pe.name = "o"}) {
  %a = pe.causal
  %b = pe.sliding_window {left = 4}
  %m = pe.mask_or %a, %b
  // expected-error @+1 {{expected a mask that is one range of i - j}}
  %o = pe.attention %q, %k, %v mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}
