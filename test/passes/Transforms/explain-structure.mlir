// RUN: pe-opt %s -o /dev/null --pe-structure-pipeline --pe-explain-structure | FileCheck %s
// RUN: pe-opt %s -o /dev/null --pe-structure-pipeline --pe-explain-structure=json | FileCheck %s --check-prefix=JSON

// CHECK:      attention at {{.*}}explain-structure.mlir:{{[0-9]+}}:8: softmax, keys with 0 <= i - j <= 127
// CHECK-NEXT:   bias shift[h]
// CHECK-NEXT:     at {{.*}}explain-structure.mlir:[[#@LINE + 49]]:8, parameters shift
// CHECK-NEXT:     class: row, because it is one value per head
// CHECK-NEXT:     forward: nothing per score: softmax is unchanged by a constant added to a row;
// CHECK-SAME:     backward: nothing per score
// CHECK-NEXT:     price: 0 operations per score; attention without a bias takes 256
// CHECK-NEXT:   bias s[h] * (i - j)
// CHECK-NEXT:     at {{.*}}explain-structure.mlir:{{[0-9]+}}:8, parameters s
// CHECK-NEXT:     class: affine, because it is proportional to i - j
// CHECK-NEXT:     forward: one addition per score: a multiple of i - j; backward: one sum per distance
// CHECK-NEXT:     price: 1 operation per score; attention without a bias takes 256

// JSON:      "attentions": [
// JSON:          "dropout": null,
// JSON-NEXT:     "dropped": [],
// JSON-NEXT:     "location": "{{.*}}explain-structure.mlir:
// JSON-NEXT:     "masks": [],
// JSON-NEXT:     "max_difference": 127,
// JSON-NEXT:     "min_difference": 0,
// JSON-NEXT:     "normalizer": "softmax",
// JSON-NEXT:     "positions": null,
// JSON-NEXT:     "prologues": [],
// JSON-NEXT:     "rotation": null,
// JSON-NEXT:     "score": null,
// JSON-NEXT:     "sides": null,
// JSON-NEXT:     "sink": null,
// JSON-NEXT:     "terms": [
// JSON:              "class": "row",
// JSON:              "advice": "",
// JSON-NEXT:         "backward": "one sum per distance",
// JSON-NEXT:         "class": "affine",
// JSON-NEXT:         "data": [],
// JSON-NEXT:         "formula": "s[h] * (i - j)",
// JSON-NEXT:         "forward": "one addition per score: a multiple of i - j",
// JSON-NEXT:         "location":
// JSON-NEXT:         "operations": {
// JSON-NEXT:           "all": 1,
// JSON-NEXT:           "functions": 0,
// JSON-NEXT:           "per": "score",
// JSON-NEXT:           "times": []
// JSON-NEXT:         },
// JSON-NEXT:         "parameters": [
// JSON-NEXT:           "s"
// JSON-NEXT:         ],
// JSON-NEXT:         "price": "1 operation per score; attention without a bias takes 256",
// JSON-NEXT:         "reason": "is proportional to i - j"
func.func @attention(%q: tensor<?x?x?x64xf32> {pe.name = "q"}, %s: tensor<?xf32> {pe.name = "s"},
                     %shift: tensor<?xf32> {pe.name = "shift"})
    -> (tensor<?x?x?x64xf32> {pe.name = "o"}) {
  %d = pe.distance
  %b = pe.linear %d slope(%s : tensor<?xf32>) intercept(%shift : tensor<?xf32>)
  %causal = pe.causal
  %window = pe.sliding_window {left = 128}
  %mask = pe.mask_and %causal, %window
  %o = pe.attention %q, %q, %q bias(%b) mask(%mask)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
