// RUN: pe-opt %s --pe-represent-as-fire="length=100" --split-input-file --verify-diagnostics
// RUN: not pe-opt %s --pe-represent-as-fire="length=0" --split-input-file 2>&1 | FileCheck %s
// CHECK: expected a length of 1 to 2^30, found 0
!t = tensor<?x?x?x?xf32>
func.func @region(%q: !t {pe.name = "q"}) -> (!t {pe.name = "o"}) {
  // expected-error-re@+1 {{expected a bias that progressive interpolation can represent:{{.*}}found 'pe.bias_fn'}}
  %b = pe.bias_fn expr "i - j"
  %o = pe.attention %q, %q, %q bias(%b) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----
!t = tensor<?x?x?x?xf32>
// i - j is not a distance if queries attend to later keys.
func.func @relative(%q: !t {pe.name = "q"}, %s: tensor<?xf32> {pe.name = "s"}) -> (!t {pe.name = "o"}) {
  %r = pe.relative
  // expected-error@+1 {{found 'pe.linear' of 'pe.relative'}}
  %b = pe.linear %r slope(%s : tensor<?xf32>)
  %o = pe.attention %q, %q, %q bias(%b) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----
!t = tensor<?x?x?x?xf32>
func.func @bucket(%q: !t {pe.name = "q"}, %table: tensor<32x?xf32> {pe.name = "t"}) -> (!t {pe.name = "o"}) {
  %x = pe.bucket
  // expected-error@+1 {{found 'pe.table' of 'pe.bucket'}}
  %b = pe.table %x, %table : tensor<32x?xf32>
  %o = pe.attention %q, %q, %q bias(%b) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----
!t = tensor<?x?x?x?xf32>
func.func @power(%q: !t {pe.name = "q"}, %c: tensor<f32> {pe.name = "c"}) -> (!t {pe.name = "o"}) {
  %x = pe.log_distance c(%c : tensor<f32>)
  // expected-error@+1 {{found 'pe.power' of 'pe.log_distance'}}
  %b = pe.power %x exponent(%c : tensor<f32>) slope(%c : tensor<f32>)
  %o = pe.attention %q, %q, %q bias(%b) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----
!t = tensor<?x?x?x?xf32>
func.func @constant(%q: !t {pe.name = "q"}) -> (!t {pe.name = "o"}) {
  %s = arith.constant dense<0.5> : tensor<f32>
  %d = pe.distance
  // expected-error@+1 {{expected parameters to be arguments of the function, found the result of another operation}}
  %b = pe.linear %d slope(%s : tensor<f32>)
  %o = pe.attention %q, %q, %q bias(%b) : (!t, !t, !t) -> !t
  return %o : !t
}

// -----
!t = tensor<?x?x?x?xf32>
func.func @none(%q: !t {pe.name = "q"}) -> (!t {pe.name = "o"}) {
  // expected-error@+1 {{expected a bias to represent, found none}}
  %o = pe.attention %q, %q, %q : (!t, !t, !t) -> !t
  return %o : !t
}

// -----
!t = tensor<?x?x?x?xf32>
func.func @rule(%q: !t {pe.name = "q"}) -> (!t {pe.name = "o"}) {
  %d = pe.distance
  // expected-error@+1 {{expected the number of heads, because its slopes follow a rule; write --heads=N}}
  %b = pe.linear %d {rule = #pe.slope_rule<geometric>}
  %o = pe.attention %q, %q, %q bias(%b) : (!t, !t, !t) -> !t
  return %o : !t
}
