// Positions that are data are written into terms, score functions and masks.
// RUN: pe-opt %s --split-input-file --pe-expand-biases --pe-split-terms --pe-place-positions | FileCheck %s

!qkv = tensor<?x?x?x?xf32>

// A term proportional to i - j becomes a row and a column, clamped to [0, 2^30); the mask becomes code.
// CHECK-LABEL: @given
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<?x?xi32> {pe.name = "x"}, %[[Y:[a-z0-9]*]]: tensor<?x?xi32>
// CHECK: pe.term <row_column
// CHECK-SAME: difference of two given positions
// CHECK: ^bb0(%[[B:.*]]: index, %{{.*}}: index, %[[I:.*]]: index, %{{.*}}: tensor<?xf32>, %[[TX:.*]]: tensor<?x?xi32>,
// CHECK-SAME: %{{.*}}: tensor<?x?xi32>):
// CHECK: pe.read %[[TX]][%[[B]], %[[I]]]
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: ^bb0(%[[B2:.*]]: index, %{{.*}}: index, %[[J:.*]]: index, %{{.*}}: tensor<?xf32>, %{{.*}}: tensor<?x?xi32>,
// CHECK-SAME: %[[TY:.*]]: tensor<?x?xi32>):
// CHECK: pe.read %[[TY]][%[[B2]], %[[J]]]
// CHECK: %[[M:.*]] = pe.mask_fn(%[[X]], %[[Y]] :
// CHECK: arith.cmpi sge
// CHECK: pe.attention
// CHECK-SAME: mask(%[[M]]) {pe.positions = "i is x[b, query], j is y[b, key]"}
func.func @given(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                 %s: tensor<?xf32> {pe.name = "s"}, %x: tensor<?x?xi32> {pe.name = "x"},
                 %y: tensor<?x?xi32> {pe.name = "y"}) -> (!qkv {pe.name = "o"}) {
  %d = pe.distance
  %b = pe.linear %d slope(%s : tensor<?xf32>)
  %m = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) positions(%x, %y : tensor<?x?xi32>, tensor<?x?xi32>) mask(%m)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

// Another function of i - j becomes general. Data over tokens is still read at the row: %[[I]] itself.
// CHECK-LABEL: @general
// CHECK: pe.term <row
// CHECK: ^bb0(%[[B:.*]]: index, %{{.*}}: index, %[[I:.*]]: index, %[[F:.*]]: tensor<?x?xf32>,
// CHECK-SAME: %[[TX:.*]]: tensor<?x?xi32>):
// CHECK-DAG: %[[N:.*]] = pe.read %[[TX]][%[[B]], %[[I]]]
// CHECK-DAG: pe.read %[[F]][%[[B]], %[[I]]]
// CHECK: pe.term <general, "is a function of i - j, the difference of two given positions">
// CHECK: math.sqrt
func.func @general(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                   %f: tensor<?x?xf32> {pe.name = "f", pe.axes = ["batch", "query"]},
                   %x: tensor<?x?xi32> {pe.name = "x"}, %y: tensor<?x?xi32> {pe.name = "y"}) -> (!qkv {pe.name = "o"}) {
  %a = pe.bias_fn expr "sqrt(abs(i - j))"
  %b = pe.bias_fn(%f : tensor<?x?xf32>) expr "f[b, i] * i"
  %o = pe.attention %q, %k, %v bias(%a, %b) positions(%x, %y : tensor<?x?xi32>, tensor<?x?xi32>)
      : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

// If positions restart, functions of i - j are unchanged, and a range of i - j remains a separate
// mask in addition to the interval of the document.
// CHECK-LABEL: @restart
// CHECK-DAG: %[[BEGIN:.*]], %[[END:.*]] = pe.document_bounds %{{.*}} : tensor<?xi32>
// CHECK-DAG: pe.document_bounds %{{.*}} {keys} : tensor<?xi32>
// CHECK: pe.term <column
// CHECK: arith.subi
// CHECK: pe.term <distance
// CHECK-NOT: document
// CHECK: pe.mask_fn(%[[BEGIN]], %[[END]] :
// CHECK: pe.attention
// CHECK-SAME: pe.positions = "i and j count from the beginning of each document in cu"
func.func @restart(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                   %cu: tensor<?xi32> {pe.name = "cu", pe.axes = ["n"]}) -> (!qkv {pe.name = "o"}) {
  %a = pe.bias_fn expr "sqrt(abs(i - j))"
  %b = pe.bias_fn expr "cos(j)"
  %c = pe.causal
  %d = pe.documents %cu : tensor<?xi32> {restart = true}
  %m = pe.mask_and %c, %d
  %o = pe.attention %q, %k, %v bias(%a, %b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

// Without restart the documents are only a mask; an attention without documents is unchanged.
// CHECK-LABEL: @mask_alone
// CHECK: pe.term <column
// CHECK-NOT: subi
// CHECK: pe.mask_fn
// CHECK-NOT: pe.positions
func.func @mask_alone(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                      %cu: tensor<?xi32> {pe.name = "cu", pe.axes = ["n"]}) -> (!qkv {pe.name = "o"}) {
  %b = pe.bias_fn expr "cos(j)"
  %d = pe.documents %cu : tensor<?xi32>
  %o = pe.attention %q, %k, %v bias(%b) mask(%d) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

// CHECK-LABEL: @unchanged
// CHECK: pe.causal
// CHECK-NOT: pe.mask_fn
// CHECK-NOT: pe.positions
func.func @unchanged(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"})
    -> (!qkv {pe.name = "o"}) {
  %b = pe.bias_fn expr "cos(j)"
  %m = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%m) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}

// -----

!qkv = tensor<?x?x?x?xf32>

// The factor of a content term counts from the beginning of the document, too.
// CHECK-LABEL: @factor_of_content
// CHECK: %[[BEGIN:.*]], %{{.*}} = pe.document_bounds
// CHECK: %[[FACTOR:.*]] = pe.factor_fn(%[[BEGIN]]
// CHECK: arith.subi
// CHECK: pe.content_fn times(%[[FACTOR]])
func.func @factor_of_content(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                             %cu: tensor<?xi32> {pe.name = "cu", pe.axes = ["n"]}) -> (!qkv {pe.name = "o"}) {
  %f = pe.factor_fn expr "1 + 0.1 * log(1 + i)"
  %c = pe.content_fn times(%f) expr "cos((i - j) / (d + 1))"
  %d = pe.documents %cu : tensor<?xi32> {restart = true}
  %o = pe.attention %q, %k, %v content(%c) mask(%d) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
