// Visible only after inlining: a mask from a private function gives stick-breaking no order.
// RUN: pe-opt %s --pe-prepare --verify-diagnostics

!qkv = tensor<?x?x?x?xf32>

func.func private @window() -> !pe.mask {
  %m = pe.sliding_window {left = 4}
  return %m : !pe.mask
}

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"}) -> (!qkv {pe.name = "o"}) {
  %m = call @window() : () -> !pe.mask
  // expected-error @below {{found one that allows later keys}}
  %o = pe.attention %q, %k, %v mask(%m) {normalizer = #pe.normalizer<stick_breaking>} : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
