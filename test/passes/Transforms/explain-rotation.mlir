// RUN: pe-opt %s --mlir-disable-threading -o /dev/null --pe-structure-pipeline --pe-explain-structure \
// RUN:   | FileCheck %s
// RUN: pe-opt %s --mlir-disable-threading -o /dev/null --pe-structure-pipeline --pe-explain-structure=json \
// RUN:   | FileCheck %s --check-prefix=JSON
// The rotated dims, the frequencies, the place of their computation and the cost.
!t = tensor<?x?x?x64xf32>

// CHECK:      attention at
// CHECK-NEXT:   rotation pe.rotary {base = 10000}
// CHECK-NEXT:     at
// CHECK-NEXT:     pairs: 32, halves (x_p, x_{p+32}), of all 64 dims
// CHECK-NEXT:     frequency of pair p: pow(10000, -0.03125 * p)
// CHECK-NEXT:     frequencies: 1 at p = 0 to 0.000133352 at p = 31, in radians per position
// CHECK-NEXT:     forward: an angle, a cosine and a sine per position and pair in float64, once per call;
// CHECK-SAME:     queries and keys are rotated once per call
// CHECK-NEXT:     price: 192 operations per query and per key of a head; attention without a bias takes 256 per score
// JSON:      "rotation": {
// JSON:        "attributes": "base = 10000",
// JSON:        "first": 1,
// JSON:        "last": 0.00013335
// JSON:        "op": "pe.rotary",
// JSON:        "pairs": 32,
func.func @plain(%q: !t {pe.name = "q"}) -> (!t {pe.name = "o"}) {
  %r = pe.rotary {base = 10000.0}
  %o = pe.attention %q, %q, %q rotate(%r) : (!t, !t, !t) -> !t
  return %o : !t
}
// CHECK:      rotation pe.rotary {base = 500, interleaved = true, rotary_dims = 32}
// CHECK:        pairs: 16, interleaved (x_2p, x_{2p+1}), of the first 32 dims of 64
// CHECK:        price: 96 operations per query
func.func @partial(%q: !t {pe.name = "q"}) -> (!t {pe.name = "o"}) {
  %r = pe.rotary {base = 500.0, interleaved = true, rotary_dims = 32}
  %o = pe.attention %q, %q, %q rotate(%r) : (!t, !t, !t) -> !t
  return %o : !t
}
// CHECK:      rotation pe.rotary {base = 10000, scaling = #pe.rope_scaling<yarn, factor = 4, original_length = 4096>}
// CHECK-NOT:    frequency of pair p
// CHECK:        frequencies: 1 at p = 0 to 3.3338e-05 at p = 31, in radians per position
// CHECK-NEXT:   cosines and sines are multiplied by 1.13863
func.func @scaled(%q: !t {pe.name = "q"}) -> (!t {pe.name = "o"}) {
  %r = pe.rotary {base = 10000.0, scaling = #pe.rope_scaling<yarn, factor = 4.0, original_length = 4096>}
  %o = pe.attention %q, %q, %q rotate(%r) : (!t, !t, !t) -> !t
  return %o : !t
}
// CHECK:      rotation pe.rotary
// CHECK-NEXT:   at {{.*}}, parameters base
// CHECK:        frequency of pair p: pow(base[h], -0.03125 * p)
// CHECK-NOT:    frequencies:
// CHECK:        for every head, once per call; {{.*}} the gradients of the parameters are sums over positions
func.func @learned(%q: !t {pe.name = "q"}, %base: tensor<?xf32> {pe.name = "base"}) -> (!t {pe.name = "o"}) {
  %r = pe.rotary %base : tensor<?xf32>
  %o = pe.attention %q, %q, %q rotate(%r) : (!t, !t, !t) -> !t
  return %o : !t
}
// CHECK:      rotation pe.rotation_table
// CHECK-NEXT:   at {{.*}}, parameters cos, sin
// CHECK:        angles: tables with a row for every position and a column for every pair
// CHECK-NEXT:   forward: rows of the tables are copied, once per call
func.func @table(%q: !t {pe.name = "q"}, %cos: tensor<?x?xf32> {pe.name = "cos"},
                 %sin: tensor<?x?xf32> {pe.name = "sin"}) -> (!t {pe.name = "o"}) {
  %r = pe.rotation_table %cos, %sin : tensor<?x?xf32>, tensor<?x?xf32>
  %o = pe.attention %q, %q, %q rotate(%r) : (!t, !t, !t) -> !t
  return %o : !t
}
// CHECK:      rotation pe.rotary {rotary_dims = 16, trailing = true}
// CHECK:        pairs: 8, halves (x_p, x_{p+8}), of the last 16 dims of 64
// CHECK:      rotation of values pe.rotary {alternating = true, sections = [3, 2, 3], sections_of = 8}
// CHECK-NEXT:   at {{[^,]*$}}
// CHECK:        angles: each pair is rotated by the position along its axis
// CHECK-NEXT:   data: p
// CHECK:        values are rotated before the kernel, and outputs are rotated back after it;
// CHECK-NEXT:   price: 192 operations per query and per value of a head
func.func @values(%q: !t {pe.name = "q"}, %p: tensor<3x?x?xi32> {pe.name = "p"}) -> (!t {pe.name = "o"}) {
  %r = pe.rotary {rotary_dims = 16, trailing = true}
  %s = pe.rotary positions(%p : tensor<3x?x?xi32>) {sections = [3, 2, 3], sections_of = 8, alternating = true}
  %o = pe.attention %q, %q, %q rotate(%r) rotate_values(%s) : (!t, !t, !t) -> !t
  return %o : !t
}
