// RUN: pe-opt %s --pe-divide-loops | FileCheck %s

// The loop over distances adds to 32 elements per head, which no two threads may share. The head is
// an index of the written element, so it remains an index of the loop.
// CHECK-LABEL: tile.plan @sums
// CHECK: %[[WORKERS:[0-9]+]] = tile.buffer {{.*}}workers0" temporary {zero}
// CHECK-SAME: <["[[COUNT:ceildiv.min.max.1,.r . c - 1..,max.256,ceildiv.max.1,.*,32.]]", 32, hq, 32], f64>
// CHECK-NOT: tile.stage
// CHECK: tile.stage @finish finish over [] {
// CHECK-NEXT: tile.foreach over ["hq", "[[COUNT]]", "32"] {
// CHECK-NEXT: ^bb0(%[[H:.*]]: index, %[[G:.*]]: index, %[[L:.*]]: index):
// CHECK: %[[BEGIN:.*]] = arith.muli %{{.*}}, %{{.*}} : i64
// CHECK: %[[LANE:.*]] = arith.index_cast %[[L]] : index to i64
// CHECK: %[[FIRST:.*]] = arith.addi %[[BEGIN]], %[[LANE]] : i64
// CHECK: tile.size "[[COUNT]]" : index
// CHECK: %[[STEP:.*]] = arith.muli %{{.*}}, %{{.*}} : i64
// CHECK: %[[SIZE:.*]] = tile.size "r + c - 1" : index
// CHECK: %[[N:.*]] = arith.muli %{{.*}}, %{{.*}} : i64
// CHECK: scf.for %[[I:.*]] = %[[FIRST]] to %[[N]] step %[[STEP]]  : i64 {
// CHECK: %[[REST:.*]] = arith.remui %[[I]], %{{.*}} : i64
// CHECK: %[[T:.*]] = arith.index_cast %[[REST]] : i64 to index
// CHECK: %[[X:.*]] = tile.read %{{.*}}[%[[H]], %[[T]]]
// CHECK: %[[BUCKET:.*]] = arith.divui %[[T]], %{{.*}} : index
// CHECK: tile.accumulate %[[X]], %[[WORKERS]][%[[G]], %[[BUCKET]], %[[H]], %[[L]]] : f32
// A warp combines the workers' elements, a lane those of its worker in each group.
// CHECK: tile.stage @finish_workers finish over [] {
// CHECK-NEXT: tile.foreach over ["32", "hq", "32"] {
// CHECK-NEXT: ^bb0(%[[E:.*]]: index, %[[HEAD:.*]]: index, %[[L:.*]]: index):
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f64
// CHECK: %[[ALL:.*]] = tile.size "[[COUNT]]" : index
// CHECK: %[[SUM:.*]] = scf.for %[[BLOCK:.*]] = %{{.*}} to %[[ALL]] step %c256{{.*}} iter_args(%[[OLD:.*]] = %[[ZERO]])
// CHECK: %[[END:.*]] = arith.minui %{{.*}}, %[[ALL]] : index
// CHECK: %[[ROW:.*]] = scf.for %[[GROUP:.*]] = %[[BLOCK]] to %[[END]] step %c1{{.*}} iter_args(%[[SO:.*]] = %[[ZERO]])
// CHECK: %[[PART:.*]] = tile.read %[[WORKERS]][%[[GROUP]], %[[E]], %[[HEAD]], %[[L]]] inbounds
// CHECK: arith.addf %[[SO]], %[[PART]] : f64
// CHECK: arith.addf %[[OLD]], %[[ROW]] : f64
// CHECK: tile.accumulate %[[SUM]], %{{.*}}[%[[E]], %[[HEAD]]] : f64 -> <[32, hq], f64>
tile.plan @sums attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %T = tile.buffer "t" temporary : !tile.buffer<[hq, t], f32>
  %G = tile.buffer "g" temporary {zero} : !tile.buffer<[32, hq], f64>
  tile.stage @finish finish over ["hq"] {
    tile.foreach over ["r + c - 1"] {
    ^bb0(%h: index, %t: index):
      %c8 = arith.constant 8 : index
      %x = tile.read %T[%h, %t] : !tile.buffer<[hq, t], f32> -> f32
      %n = arith.divui %t, %c8 : index
      tile.accumulate %x, %G[%n, %h] : f32 -> !tile.buffer<[32, hq], f64>
      tile.yield
    }
  }
}

// Two indices become one linear index, the last fastest. A maximum starts at the lowest value, a
// minimum at infinity, and the plan does not clear their slots.
// CHECK-LABEL: tile.plan @extremes
// CHECK: %[[ALLMOST:[0-9]+]] = tile.buffer {{.*}}groups0" temporary : <["{{.*}}"], i32>
// CHECK: %[[MOST:[0-9]+]] = tile.buffer {{.*}}workers0" temporary : <["{{.*}}", 32], i32>
// CHECK: %[[ALLLEAST:[0-9]+]] = tile.buffer {{.*}}groups1" temporary : <["{{.*}}"], f32>
// CHECK: %[[LEAST:[0-9]+]] = tile.buffer {{.*}}workers1" temporary : <["{{.*}}", 32], f32>
// CHECK: tile.stage {{.*}} prepare over [] {
// CHECK: arith.constant -2147483648 : i32
// CHECK-NEXT: tile.write %{{.*}}, %[[MOST]]
// CHECK: tile.write %{{.*}}, %[[ALLMOST]]
// CHECK: arith.constant 0x7F800000 : f32
// CHECK-NEXT: tile.write %{{.*}}, %[[LEAST]]
// CHECK: tile.write %{{.*}}, %[[ALLLEAST]]
// CHECK: tile.stage @reach prepare over [] {
// CHECK: scf.for %[[N:.*]] =
// CHECK: %[[FAST:.*]] = arith.remui %[[N]], %{{.*}} : i64
// CHECK-NEXT: %[[J:.*]] = arith.index_cast %[[FAST]] : i64 to index
// CHECK-NEXT: %[[SLOW:.*]] = arith.divui %[[N]], %{{.*}} : i64
// CHECK-NEXT: %[[REST:.*]] = arith.remui %[[SLOW]], %{{.*}} : i64
// CHECK-NEXT: %[[I:.*]] = arith.index_cast %[[REST]] : i64 to index
// CHECK: tile.read %{{.*}}[%[[I]], %[[J]]]
// CHECK: tile.accumulate %{{.*}}, %[[MOST]][%{{.*}}] by max : i32
// CHECK: tile.accumulate %{{.*}}, %[[LEAST]][%{{.*}}] by min : f32
// CHECK: tile.accumulate %{{.*}}, %[[ALLMOST]][%{{.*}}] by max : i32
// CHECK: tile.accumulate %{{.*}}, %[[ALLLEAST]][%{{.*}}] by min : f32
// CHECK: tile.stage @reach_workers prepare over [] {
// CHECK: arith.maxsi
// CHECK: tile.accumulate %{{.*}} by max : i32
// CHECK: arith.minnumf
// CHECK: tile.accumulate %{{.*}} by min : f32
tile.plan @extremes attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %X = tile.buffer "x" argument : !tile.buffer<[b, r], i32>
  %Y = tile.buffer "y" argument : !tile.buffer<[b, r], f32>
  %M = tile.buffer "m" temporary {zero} : !tile.buffer<[], i32>
  %L = tile.buffer "l" temporary {zero} : !tile.buffer<[], f32>
  tile.stage @reach prepare over ["b"] {
    tile.foreach over ["r"] {
    ^bb0(%b: index, %i: index):
      %x = tile.read %X[%b, %i] : !tile.buffer<[b, r], i32> -> i32
      tile.accumulate %x, %M[] by max : i32 -> !tile.buffer<[], i32>
      %y = tile.read %Y[%b, %i] : !tile.buffer<[b, r], f32> -> f32
      tile.accumulate %y, %L[] by min : f32 -> !tile.buffer<[], f32>
      tile.yield
    }
  }
}

// Both stages add to the same target, whose sums no stage between them reads: one stage combines the partial
// sums of both, before the first that reads it.
// CHECK-LABEL: tile.plan @common
// CHECK: %[[FIRST:[0-9]+]] = tile.buffer {{.*}}one_groups0" temporary {zero} : <["{{.*}}"], f64>
// CHECK: tile.stage @one finish
// CHECK: %[[SECOND:[0-9]+]] = tile.buffer {{.*}}two_groups0" temporary {zero} : <["{{.*}}"], f64>
// CHECK: tile.stage @two finish
// CHECK: tile.stage @two_workers finish over [] {
// CHECK: %[[A:.*]] = scf.for
// CHECK: tile.read %[[FIRST]]
// CHECK: %[[B:.*]] = scf.for
// CHECK: tile.read %[[SECOND]]
// CHECK: %[[TOTAL:.*]] = arith.addf %[[A]], %[[B]] : f64
// CHECK: tile.accumulate %[[TOTAL]], %{{.*}}[] : f64 -> <[], f64>
// CHECK: tile.stage @three finish
// CHECK-NOT: tile.stage
tile.plan @common attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %X = tile.buffer "x" argument : !tile.buffer<[r], f32>
  %S = tile.buffer "s" temporary {zero} : !tile.buffer<[], f64>
  %G = tile.buffer "g" gradient : !tile.buffer<[], f32>
  tile.stage @one finish over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %x = tile.read %X[%i] : !tile.buffer<[r], f32> -> f32
      tile.accumulate %x, %S[] : f32 -> !tile.buffer<[], f64>
      tile.yield
    }
  }
  tile.stage @two finish over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %x = tile.read %X[%i] : !tile.buffer<[r], f32> -> f32
      %y = arith.mulf %x, %x : f32
      tile.accumulate %y, %S[] : f32 -> !tile.buffer<[], f64>
      tile.yield
    }
  }
  tile.stage @three finish over [] {
    tile.foreach over [] {
      %s = tile.read %S[] : !tile.buffer<[], f64> -> f64
      %t = arith.truncf %s : f64 to f32
      tile.write %t, %G[] : f32 -> !tile.buffer<[], f32>
      tile.yield
    }
  }
}

// Loops that stay unchanged: parallel rows, a read of a buffer that the loop adds to, a
// write, sums of two kinds in one buffer, more than 4096 elements, sums that a later loop reads,
// and a constant trip count.
// CHECK-LABEL: tile.plan @others
// CHECK-NOT: ceildiv
// CHECK-NOT: scf.for
tile.plan @others attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %X = tile.buffer "x" argument : !tile.buffer<[b, r], f32>
  %C = tile.buffer "c" temporary : !tile.buffer<[r], f64>
  %S = tile.buffer "s" temporary {zero} : !tile.buffer<[4], f64>
  %R = tile.buffer "r" temporary {zero} : !tile.buffer<[4], f64>
  %W = tile.buffer "w" temporary {zero} : !tile.buffer<[4], f64>
  %K = tile.buffer "k" temporary {zero} : !tile.buffer<[4], f64>
  %M = tile.buffer "m" temporary {zero} : !tile.buffer<[64, 65], f64>
  %F = tile.buffer "f" temporary {zero} : !tile.buffer<[4], f64>
  tile.stage @parallel finish over [] {
    tile.foreach over ["b", "r"] {
    ^bb0(%b: index, %i: index):
      %x = tile.read %X[%b, %i] : !tile.buffer<[b, r], f32> -> f32
      tile.accumulate %x, %C[%i] : f32 -> !tile.buffer<[r], f64>
      tile.yield
    }
  }
  tile.stage @reads finish over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %c0 = arith.constant 0 : index
      %x = tile.read %R[%c0] : !tile.buffer<[4], f64> -> f64
      tile.accumulate %x, %R[%i] : f64 -> !tile.buffer<[4], f64>
      tile.yield
    }
  }
  tile.stage @writes finish over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %c0 = arith.constant 0 : index
      %x = arith.constant 1.0 : f64
      tile.write %x, %W[%c0] : f64 -> !tile.buffer<[4], f64>
      tile.accumulate %x, %S[%i] : f64 -> !tile.buffer<[4], f64>
      tile.yield
    }
  }
  tile.stage @kinds finish over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %x = arith.constant 1.0 : f64
      tile.accumulate %x, %K[%i] : f64 -> !tile.buffer<[4], f64>
      tile.accumulate %x, %K[%i] by max : f64 -> !tile.buffer<[4], f64>
      tile.yield
    }
  }
  tile.stage @many finish over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %x = arith.constant 1.0 : f64
      tile.accumulate %x, %M[%i, %i] : f64 -> !tile.buffer<[64, 65], f64>
      tile.yield
    }
  }
  tile.stage @followed finish over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %x = arith.constant 1.0 : f64
      tile.accumulate %x, %F[%i] : f64 -> !tile.buffer<[4], f64>
      tile.yield
    }
    tile.foreach over ["4"] {
    ^bb0(%i: index):
      %x = tile.read %F[%i] : !tile.buffer<[4], f64> -> f64
      tile.write %x, %S[%i] : f64 -> !tile.buffer<[4], f64>
      tile.yield
    }
  }
  tile.stage @short finish over [] {
    tile.foreach over ["64"] {
    ^bb0(%i: index):
      %c0 = arith.constant 0 : index
      %x = arith.constant 1.0 : f64
      tile.accumulate %x, %S[%c0] : f64 -> !tile.buffer<[4], f64>
      tile.yield
    }
  }
}
