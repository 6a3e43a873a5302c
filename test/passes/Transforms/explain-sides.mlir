// RUN: pe-opt %s -o /dev/null --pe-structure-pipeline --pe-explain-structure | FileCheck %s
// RUN: pe-opt %s -o /dev/null --pe-structure-pipeline --pe-explain-structure=json | FileCheck %s --check-prefix=JSON

// CHECK:      attention at {{.*}}: stick_breaking, all keys
// CHECK-NEXT:   the query's own key is included
// CHECK-NEXT:   the remaining mass goes to the query's own value
// CHECK-NEXT:     forward: one addition per element of the output; backward: one sum per query,
// CHECK-SAME:     and one addition per element of the values
// CHECK-NEXT:   attends to keys on both sides
// CHECK-NEXT:     forward and backward: one pass over the keys before a query, one over the keys after it,
// CHECK-SAME:     and their mean

// JSON:      "sides": {
// JSON-NEXT:   "attend_current": true,
// JSON-NEXT:   "direction": "both",
// JSON-NEXT:   "remainder": "value"
!t = tensor<?x?x?x64xf32>
func.func @attention(%q: !t {pe.name = "q"}) -> (!t {pe.name = "o"}) {
  %o = pe.attention %q, %q, %q
      {normalizer = #pe.normalizer<stick_breaking>, attend_current, remainder = #pe.remainder<value>,
          direction = #pe.direction<both>}
      : (!t, !t, !t) -> !t
  return %o : !t
}
