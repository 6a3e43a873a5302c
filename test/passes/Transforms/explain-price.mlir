// RUN: pe-opt %s --mlir-disable-threading -o /dev/null --pe-structure-pipeline --pe-explain-structure | FileCheck %s
// RUN: pe-opt %s --mlir-disable-threading -o /dev/null --pe-structure-pipeline --pe-explain-structure=json \
// RUN:   | FileCheck %s --check-prefix=JSON
// Prices of sums over extents, score functions, sinks, factors and masks; formulas as the user wrote them.
!t = tensor<?x?x?x64xf32>

// CHECK-LABEL: attention at
// CHECK:       bias sum(k < size(c, 2), exp(c[b, h, k] * (i + j * k)))
// CHECK:         price: 6 * size(c, 2) operations per score, size(c, 2) of them division, exp, log or similar;
// CHECK-SAME:    attention without a bias takes 256
// JSON:        "operations": {
// JSON-NEXT:     "all": 0,
// JSON-NEXT:     "functions": 0,
// JSON-NEXT:     "per": "score",
// JSON-NEXT:     "times": [
// JSON-NEXT:       {
// JSON-NEXT:         "all": 6,
// JSON-NEXT:         "extent": "size(c, 2)",
// JSON-NEXT:         "functions": 1
func.func @extent(%q: !t {pe.name = "q"}, %c: tensor<?x?x?xf32> {pe.name = "c"}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%c : tensor<?x?x?xf32>) expr "sum(n < size(c, 2), exp(c[b, h, n] * (i + j * n)))"
  %o = pe.attention %q, %q, %q bias(%b) : (!t, !t, !t) -> !t
  return %o : !t
}
// A static size is a number.
// CHECK-LABEL: attention at
// CHECK:       price: 48 operations per score, 8 of them division, exp, log or similar
func.func @count(%q: !t {pe.name = "q"}, %c: tensor<?x?x8xf32> {pe.name = "c"}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%c : tensor<?x?x8xf32>) expr "sum(n < size(c, 2), exp(c[b, h, n] * (i + j * n)))"
  %o = pe.attention %q, %q, %q bias(%b) : (!t, !t, !t) -> !t
  return %o : !t
}
// Nested sums.
// CHECK-LABEL: attention at
// CHECK:       price: 4 * size(w, 0) * size(w, 1) + size(w, 0) operations per score
func.func @nested(%q: !t {pe.name = "q"}, %w: tensor<?x?xf32> {pe.name = "w"}) -> (!t {pe.name = "o"}) {
  %b = pe.bias_fn(%w : tensor<?x?xf32>) expr "sum(n < size(w, 0), sum(m < size(w, 1), w[n, m] * i * j))"
  %o = pe.attention %q, %q, %q bias(%b) : (!t, !t, !t) -> !t
  return %o : !t
}
// CHECK-LABEL: attention at
// CHECK:       mask (i * 7 + j * 13) % 5 != 0
// CHECK:         price: {{[0-9]+}} operations per pair
// CHECK:       score tanh(s * w[h]) + s
// CHECK:         price: 3 operations per score, 1 of them division, exp, log or similar;
// CHECK-SAME:    attention without a bias takes 256
// CHECK:       sink w[h] * log(1 + i)
// CHECK:         price: 4 operations per query, 1 of them division, exp, log or similar
// CHECK:       factor 1 / (1 + exp(-w[h] * j))
// CHECK:         price: {{[0-9]+}} operations per weight, 2 of them division, exp, log or similar;
// CHECK-SAME:    attention without a bias takes 256 per score
func.func @functions(%q: !t {pe.name = "q"}, %w: tensor<?xf32> {pe.name = "w"}) -> (!t {pe.name = "o"}) {
  %s = pe.score_fn(%w : tensor<?xf32>) expr "tanh(s * w[h]) + s"
  %f = pe.factor_fn(%w : tensor<?xf32>) expr "1 / (1 + exp(-w[h] * j))"
  %k = pe.sink_fn(%w : tensor<?xf32>) expr "w[h] * log(1 + i)"
  %m = pe.mask_fn expr "(i * 7 + j * 13) % 5 != 0"
  %o = pe.attention %q, %q, %q score(%s) sink(%k) factor(%f) mask(%m) : (!t, !t, !t) -> !t
  return %o : !t
}
// A quotient of constants is a number, so queries carry the factor.
// CHECK-LABEL: attention at
// CHECK:       score s * max(1, log(i + 1) / log(512))
// CHECK:         forward: a factor on the queries
// CHECK:         price: 5 operations per query, 2 of them division, exp, log or similar
func.func @of_query(%q: !t {pe.name = "q"}) -> (!t {pe.name = "o"}) {
  %s = pe.score_fn expr "s * max(1, log(i + 1) / log(512))"
  %o = pe.attention %q, %q, %q score(%s) : (!t, !t, !t) -> !t
  return %o : !t
}
// CHECK-LABEL: attention at
// CHECK:       bias let x = (i - j) / w[h] in amp[h] * (1 - x * x) * exp(-x * x / 2) + amp[h] * exp(-abs(i - j) / w[h])
func.func @written(%q: !t {pe.name = "q"}, %w: tensor<?xf32> {pe.name = "w"}, %amp: tensor<?xf32> {pe.name = "amp"})
    -> (!t {pe.name = "o"}) {
  %a = pe.bias_fn(%amp, %w : tensor<?xf32>, tensor<?xf32>)
      expr "let x = (i - j) / w[h] in amp[h] * (1 - x * x) * exp(-x * x / 2)"
  %b = pe.bias_fn(%amp, %w : tensor<?xf32>, tensor<?xf32>) expr "amp[h] * exp(-abs(i - j) / w[h])"
  %o = pe.attention %q, %q, %q bias(%a, %b) : (!t, !t, !t) -> !t
  return %o : !t
}
// Code that reads nothing of a pair is evaluated once per row, or once per head.
// CHECK-LABEL: attention at
// CHECK:       factor 1 / (1 + i)
// CHECK:         forward: a factor on the output, one product per element; backward
// CHECK-NEXT:    price: 2 operations per query, 1 of them division, exp, log or similar{{$}}
// JSON:        "output_factor": {
// JSON:            "all": 2,
// JSON:            "per": "query",
func.func @row_factor(%q: !t {pe.name = "q"}) -> (!t {pe.name = "o"}) {
  %f = pe.factor_fn expr "1 / (1 + i)"
  %o = pe.attention %q, %q, %q factor(%f) : (!t, !t, !t) -> !t
  return %o : !t
}
// CHECK-LABEL: attention at
// CHECK:       score exp(w[h])
// CHECK:         price: 2 operations per head, 1 of them division, exp, log or similar
func.func @head_score(%q: !t {pe.name = "q"}, %w: tensor<?xf32> {pe.name = "w"}) -> (!t {pe.name = "o"}) {
  %s = pe.score_fn(%w : tensor<?xf32>) expr "exp(w[h])"
  %o = pe.attention %q, %q, %q score(%s) : (!t, !t, !t) -> !t
  return %o : !t
}
