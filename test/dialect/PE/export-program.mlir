// The JSON form of a function lists its ops with defaults, keywords and the user's locations.
// RUN: pe-opt %s --pe-prepare --pe-export-program -o /dev/null | FileCheck %s
// RUN: pe-opt %s --pe-prepare --pe-export-program -o /dev/null | %python -m json.tool > /dev/null

!qkv = tensor<?x?x?x?xf32>

// Inlined ops keep their original locations.
func.func private @recency(%s: tensor<?xf32>) -> !pe.bias {
  %x = pe.distance
  %b = pe.linear %x slope(%s : tensor<?xf32>)
  return %b : !pe.bias
}

func.func @attention(%q: !qkv {pe.name = "q"},
                     %k: !qkv {pe.name = "k"},
                     %v: !qkv {pe.name = "v"},
                     %s: tensor<?xf32> {pe.name = "s", pe.init = 0.5, pe.decay = false})
    -> (!qkv {pe.name = "o"}) {
  %b = call @recency(%s) : (tensor<?xf32>) -> !pe.bias
  %f = pe.bias_fn(%s : tensor<?xf32>) {
  ^bb0(%e: index, %h: index, %i: index, %j: index, %p: tensor<?xf32>):
    %c = arith.cmpi slt, %i, %j : index
    %x = pe.read %p[%h] : tensor<?xf32>
    %inf = arith.constant 0xFF800000 : f32
    %y = arith.select %c, %inf, %x : f32
    pe.yield %y : f32
  }
  %o = pe.attention %q, %k, %v bias(%b, %f) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// CHECK:      "args": [
// CHECK:        "pe.name": "q"
// CHECK:        "id": 0,
// CHECK-NEXT:   "name": "q",
// CHECK-NEXT:   "type": "tensor<?x?x?x?xf32>"
// CHECK:        "pe.decay": false,
// CHECK-NEXT:   "pe.init": 0.5,
// CHECK:        "id": 3,
// CHECK:      "name": "attention",
// CHECK:      "ops": [
// CHECK:        "loc": "{{.*}}export-program.mlir:9:8",
// CHECK-NEXT:   "op": "pe.distance",
// CHECK:        "results": [
// CHECK-NEXT:     4
// CHECK:        "types": [
// CHECK-NEXT:     "!pe.coordinate"

// Defaults are exported even if the source omits them.
// CHECK:        "factor": 1,
// CHECK-NEXT:   "operandSegmentSizes": [
// CHECK-NEXT:     1,
// CHECK-NEXT:     1,
// CHECK-NEXT:     0
// CHECK:        "loc": "{{.*}}export-program.mlir:10:8",
// CHECK-NEXT:   "op": "pe.linear",

// CHECK:        "op": "pe.bias_fn",
// CHECK:        "regions": [
// CHECK:            "args": [
// CHECK:                "type": "tensor<?xf32>"
// CHECK:            "ops": [
// CHECK:                "predicate": 2
// CHECK:                "op": "arith.cmpi",
// CHECK:                "value": "-inf"

// CHECK:        "normalizer": "softmax",
// CHECK:        "op": "pe.attention",
// CHECK:      "returns": [
// CHECK:        "name": "o"
