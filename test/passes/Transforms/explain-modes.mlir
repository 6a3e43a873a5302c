// RUN: pe-opt %s -o /dev/null --pe-structure-pipeline --pe-explain-structure | FileCheck %s
// RUN: pe-opt %s -o /dev/null --pe-structure-pipeline --pe-explain-structure=json | FileCheck %s --check-prefix=JSON

// With a sink, a term that depends only on the query has a price.
// CHECK:      attention at {{.*}}: softmax, all keys
// CHECK-NEXT:   sink s[h]
// CHECK-NEXT:     forward: starts a row's maximum and sum; backward: one sum per query
// CHECK-NEXT:   dropout of 0.25 of the weights, seed seed
// CHECK-NEXT:     forward and backward: a quarter of a Philox 4x32-10 block for every score
// CHECK-NEXT:   bias sin(i)
// CHECK:          forward: one addition per score: a value per query; backward: one sum per query

// JSON:      "dropout": {
// JSON-NEXT:   "probability": 0.25,
// JSON-NEXT:   "seed": "seed"
// JSON:      "sink": {
// JSON-NEXT:   "parameter": "s"
func.func @attention(%q: tensor<?x?x?x64xf32> {pe.name = "q"}, %s: tensor<?xf32> {pe.name = "s"},
                     %seed: tensor<?xi64> {pe.name = "seed"}) -> (tensor<?x?x?x64xf32> {pe.name = "o"}) {
  %row = pe.bias_fn expr "sin(i)"
  %o = pe.attention %q, %q, %q bias(%row) sink(%s : tensor<?xf32>) dropout(0.25, %seed : tensor<?xi64>)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
