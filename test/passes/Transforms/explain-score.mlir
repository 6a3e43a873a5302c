// RUN: pe-opt %s --mlir-disable-threading -o /dev/null --pe-structure-pipeline --pe-explain-structure \
// RUN:   | FileCheck %s
// Functions of the score that queries carry as a factor: s times a value of the query that is
// finite at every position.
!t = tensor<?x?x?x?xf32>

// CHECK:      score s * log(1 + i) * g[h]
// CHECK:      forward: a factor on the queries
func.func @length(%q: !t {pe.name = "q"}, %g: tensor<?xf32> {pe.name = "g"}) -> (!t {pe.name = "o"}) {
  %s = pe.score_fn(%g : tensor<?xf32>) expr "s * log(1 + i) * g[h]"
  %o = pe.attention %q, %q, %q score(%s) : (!t, !t, !t) -> !t
  return %o : !t
}
// A factor of the head may have any value.
// CHECK:      score s / g[h] - s
// CHECK:      forward: a factor on the queries
func.func @temperature(%q: !t {pe.name = "q"}, %g: tensor<?xf32> {pe.name = "g"}) -> (!t {pe.name = "o"}) {
  %s = pe.score_fn(%g : tensor<?xf32>) expr "s / g[h] - s"
  %o = pe.attention %q, %q, %q score(%s) : (!t, !t, !t) -> !t
  return %o : !t
}
// CHECK:      score
// CHECK:      forward: a factor on the queries
func.func @bounded(%q: !t {pe.name = "q"}, %g: tensor<?xf32> {pe.name = "g"}) -> (!t {pe.name = "o"}) {
  %s = pe.score_fn(%g : tensor<?xf32>) expr "s * (cos(i * g[h]) - 1 / (3 + tanh(i * g[h])))"
  %o = pe.attention %q, %q, %q score(%s) : (!t, !t, !t) -> !t
  return %o : !t
}
// Infinite at position 0.
// CHECK:      score s / i
// CHECK:      forward: evaluates its code for every score
func.func @pole(%q: !t {pe.name = "q"}) -> (!t {pe.name = "o"}) {
  %s = pe.score_fn expr "s / i"
  %o = pe.attention %q, %q, %q score(%s) : (!t, !t, !t) -> !t
  return %o : !t
}
// CHECK:      score s * log(i)
// CHECK:      forward: evaluates its code for every score
func.func @logarithm(%q: !t {pe.name = "q"}) -> (!t {pe.name = "o"}) {
  %s = pe.score_fn expr "s * log(i)"
  %o = pe.attention %q, %q, %q score(%s) : (!t, !t, !t) -> !t
  return %o : !t
}
// Possibly infinite: the divisor may be 0 at some position.
// CHECK:      score
// CHECK:      forward: evaluates its code for every score
func.func @unknown(%q: !t {pe.name = "q"}, %g: tensor<?xf32> {pe.name = "g"}) -> (!t {pe.name = "o"}) {
  %s = pe.score_fn(%g : tensor<?xf32>) expr "s / (g[h] + i)"
  %o = pe.attention %q, %q, %q score(%s) : (!t, !t, !t) -> !t
  return %o : !t
}
// CHECK:      score s * (j + 1)
// CHECK:      forward: evaluates its code for every score
func.func @of_key(%q: !t {pe.name = "q"}) -> (!t {pe.name = "o"}) {
  %s = pe.score_fn expr "s * (j + 1)"
  %o = pe.attention %q, %q, %q score(%s) : (!t, !t, !t) -> !t
  return %o : !t
}
// CHECK:      score s + 1
// CHECK:      forward: evaluates its code for every score
func.func @sum(%q: !t {pe.name = "q"}) -> (!t {pe.name = "o"}) {
  %s = pe.score_fn expr "s + 1"
  %o = pe.attention %q, %q, %q score(%s) : (!t, !t, !t) -> !t
  return %o : !t
}
// CHECK:      score s * s
// CHECK:      forward: evaluates its code for every score
func.func @square(%q: !t {pe.name = "q"}) -> (!t {pe.name = "o"}) {
  %s = pe.score_fn expr "s * s"
  %o = pe.attention %q, %q, %q score(%s) : (!t, !t, !t) -> !t
  return %o : !t
}
