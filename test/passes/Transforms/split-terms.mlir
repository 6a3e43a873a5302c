// RUN: pe-opt %s --split-input-file --pe-split-terms | FileCheck %s
// RUN: pe-opt %s --split-input-file --pe-split-terms --pe-split-terms | FileCheck %s

// A sum of a column, an affine and a general summand: three terms, cheapest first; captures belong to the term
// that reads them, and a part has as arguments only its inputs. slope * i - slope * j is one multiple of i - j.
// CHECK-LABEL: func @sum
// CHECK-SAME:    %[[SLOPE:[a-z0-9]+]]: tensor<?xf32>, %[[AMP:[a-z0-9]+]]: tensor<?xf32>
// CHECK:         %[[COLUMN:.*]] = pe.term <column, "depends only on the key position">(%[[AMP]] : tensor<?xf32>)
// CHECK-SAME:      formula = "-argument 2[h] * cos(j)"
// CHECK-NEXT:    ^bb0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: tensor<?xf32>):
// CHECK:           math.cos
// CHECK:         %[[AFFINE:.*]] = pe.term <affine, "is proportional to i - j">(%[[SLOPE]] : tensor<?xf32>)
// CHECK-SAME:      formula = "argument 1[h] * (i - j)"
// CHECK-NEXT:    ^bb0(%{{.*}}: index, %{{.*}}: index, %[[D:.*]]: index, %{{.*}}: tensor<?xf32>):
// CHECK:           %[[I:.*]] = arith.index_cast %[[D]]
// CHECK:           %[[F:.*]] = arith.sitofp %[[I]]
// CHECK:           %[[V:.*]] = arith.mulf %{{.*}}, %[[F]]
// CHECK:           pe.yield %[[V]]
// CHECK:         %[[GENERAL:.*]] = pe.term <general, "combines (i) and (j) in arith.mulf">
// CHECK-SAME:      formula = "exp(i * j)"
// CHECK-NEXT:    ^bb0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index):
// CHECK:           math.exp
// CHECK:         pe.attention {{.*}} bias(%[[COLUMN]], %[[AFFINE]], %[[GENERAL]])
func.func @sum(%q: tensor<?x?x?x64xf32>, %slope: tensor<?xf32>, %amp: tensor<?xf32>) -> tensor<?x?x?x64xf32> {
  %bias = pe.bias_fn(%slope, %amp : tensor<?xf32>, tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %s: tensor<?xf32>, %a: tensor<?xf32>):
    %sh = pe.read %s[%h] : tensor<?xf32>
    %ah = pe.read %a[%h] : tensor<?xf32>
    %i32 = arith.index_cast %i : index to i32
    %j32 = arith.index_cast %j : index to i32
    %fi = arith.sitofp %i32 : i32 to f32
    %fj = arith.sitofp %j32 : i32 to f32
    %si = arith.mulf %sh, %fi : f32
    %sj = arith.mulf %sh, %fj : f32
    %affine = arith.subf %si, %sj : f32
    %cos = math.cos %fj : f32
    %column = arith.mulf %cos, %ah : f32
    %product = arith.mulf %fi, %fj : f32
    %general = math.exp %product : f32
    %0 = arith.addf %affine, %general : f32
    %1 = arith.subf %0, %column : f32
    pe.yield %1 : f32
  }
  %o = pe.attention %q, %q, %q bias(%bias)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

// A slope times the distance, without a mask: a table over the distance, with the code unchanged.
// Under a causal mask the distance is i - j, so the term is affine.
// CHECK-LABEL: func @causal_distance
// CHECK:         %[[AFFINE:.*]] = pe.term <affine
// CHECK-SAME:      formula = "-argument 1[h] * (i - j)"
// CHECK-NOT:       math.absf
// CHECK:         pe.attention {{.*}} bias(%[[AFFINE]]) mask
// CHECK:         %[[DISTANCE:.*]] = pe.term <distance
// CHECK-SAME:      formula = "argument 1[h] * abs(i - j) * -1"
// CHECK:           math.absf
// CHECK:         pe.attention {{.*}} bias(%[[DISTANCE]]) :
func.func @causal_distance(%q: tensor<?x?x?x64xf32>, %slope: tensor<?xf32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) {
  %bias = pe.bias_fn(%slope : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %s: tensor<?xf32>):
    %sh = pe.read %s[%h] : tensor<?xf32>
    %d = arith.subi %i, %j : index
    %d32 = arith.index_cast %d : index to i32
    %f = arith.sitofp %d32 : i32 to f32
    %a = math.absf %f : f32
    %v = arith.mulf %sh, %a : f32
    %minus = arith.constant -1.0 : f32
    %n = arith.mulf %v, %minus : f32
    pe.yield %n : f32
  }
  %mask = pe.causal
  %o = pe.attention %q, %q, %q bias(%bias) mask(%mask)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  %p = pe.attention %q, %q, %q bias(%bias)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o, %p : tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>
}

// -----

// Two distance biases and an affine one become one table; a capture that both read appears once.
// CHECK-LABEL: func @merge
// CHECK-SAME:    %[[S:[a-z0-9]+]]: tensor<?xf32>
// CHECK:         %[[ONE:.*]] = pe.term <distance{{.*}}(%[[S]] : tensor<?xf32>)
// CHECK-SAME:      formula = "argument 1[h] * exp(j - i) + sin((i - j) * argument 1[h]) - (i - j)"
// CHECK:           math.exp
// CHECK:           math.sin
// CHECK:           arith.addf
// CHECK:         pe.attention {{.*}} bias(%[[ONE]])
func.func @merge(%q: tensor<?x?x?x64xf32>, %s: tensor<?xf32>) -> tensor<?x?x?x64xf32> {
  %first = pe.bias_fn(%s : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>):
    %sh = pe.read %t[%h] : tensor<?xf32>
    %d = arith.subi %j, %i : index
    %d32 = arith.index_cast %d : index to i32
    %f = arith.sitofp %d32 : i32 to f32
    %e = math.exp %f : f32
    %v = arith.mulf %e, %sh : f32
    %w = arith.addf %v, %f : f32
    pe.yield %w : f32
  }
  %second = pe.bias_fn(%s : tensor<?xf32>) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>):
    %sh = pe.read %t[%h] : tensor<?xf32>
    %d = arith.subi %i, %j : index
    %d32 = arith.index_cast %d : index to i32
    %f = arith.sitofp %d32 : i32 to f32
    %x = arith.mulf %f, %sh : f32
    %v = math.sin %x : f32
    pe.yield %v : f32
  }
  %o = pe.attention %q, %q, %q bias(%first, %second)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

// A bias that is listed twice counts twice.
// CHECK-LABEL: func @twice
// CHECK:         %[[ONE:.*]] = pe.term <distance
// CHECK:           %[[A:.*]] = math.sin
// CHECK:           %[[SUM:.*]] = arith.addf %[[A]], %[[A]]
// CHECK:           pe.yield %[[SUM]]
// CHECK:         pe.attention {{.*}} bias(%[[ONE]])
func.func @twice(%q: tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32> {
  %bias = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %d = arith.subi %i, %j : index
    %d32 = arith.index_cast %d : index to i32
    %f = arith.sitofp %d32 : i32 to f32
    %v = math.sin %f : f32
    pe.yield %v : f32
  }
  %o = pe.attention %q, %q, %q bias(%bias, %bias)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

// Without a bias nothing changes; a bias of zeros leaves no term.
// CHECK-LABEL: func @none
// CHECK-NOT:     pe.term
// CHECK:         pe.attention %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK:         pe.attention %{{.*}}, %{{.*}}, %{{.*}} :
func.func @none(%q: tensor<?x?x?x64xf32>) -> (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) {
  %bias = pe.bias_fn {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %v = arith.constant 0.0 : f32
    pe.yield %v : f32
  }
  %o = pe.attention %q, %q, %q
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  %p = pe.attention %q, %q, %q bias(%bias)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o, %p : tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>
}

// -----

// A row and a column form one term with two parts.
// CHECK-LABEL: func @row_and_column
// CHECK:         %[[ONE:.*]] = pe.term <row_column, "is a function of the query position plus one of the key position">
// CHECK-SAME:      formula = "exp(i) - cos(j)"
// CHECK-NEXT:    ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index):
// CHECK-NEXT:      arith.index_cast %[[I]]
// CHECK:           math.exp
// CHECK:         }, {
// CHECK-NEXT:    ^bb0(%{{.*}}: index, %{{.*}}: index, %[[J:.*]]: index):
// CHECK:           arith.index_cast %[[J]]
// CHECK:           math.cos
// CHECK:         pe.attention {{.*}} bias(%[[ONE]])
func.func @row_and_column(%q: tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32> {
  %bias = pe.bias_fn expr "exp(i) - cos(j)"
  %o = pe.attention %q, %q, %q bias(%bias)
      : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}
