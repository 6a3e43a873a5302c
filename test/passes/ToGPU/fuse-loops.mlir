// RUN: pe-opt %s --split-input-file --pe-fuse-loops | FileCheck %s
// RUN: pe-opt %s --split-input-file --pe-fuse-loops --pe-fuse-loops | FileCheck %s

// Every iteration of @round waits for the same iteration of @add alone, so a thread executes both; the
// loop of @other, which they pass, conflicts with neither. Names of the items and of the loop count alike.
// CHECK-LABEL: tile.plan @same
// CHECK:       tile.stage @add finish over [] {
// CHECK-NEXT:    tile.foreach over ["hq", "4"] {
// CHECK-NEXT:    ^bb0(%[[H:.*]]: index, %[[N:.*]]: index):
// CHECK:           tile.accumulate %{{.*}}, %[[SUMS:.*]][%[[H]], %[[N]]]
// CHECK-NEXT:      %[[S:.*]] = tile.read %[[SUMS]][%[[H]], %[[N]]]
// CHECK-NEXT:      tile.write %[[S]], %{{.*}}[%[[H]], %[[N]]]
// CHECK-NEXT:    }
// CHECK:       tile.stage @other
// CHECK-NOT:   tile.stage
tile.plan @same attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %X = tile.buffer "x" argument : !tile.buffer<[hq, 4], f32>
  %S = tile.buffer "s" temporary {zero} : !tile.buffer<[hq, 4], f32>
  %G = tile.buffer "g" gradient : !tile.buffer<[hq, 4], f32>
  %O = tile.buffer "o" temporary : !tile.buffer<[r], f32>
  tile.stage @add finish over [] {
    tile.foreach over ["hq", "4"] {
    ^bb0(%h: index, %n: index):
      %x = tile.read %X[%h, %n] : !tile.buffer<[hq, 4], f32> -> f32
      tile.accumulate %x, %S[%h, %n] : f32 -> !tile.buffer<[hq, 4], f32>
      tile.yield
    }
  }
  tile.stage @other finish over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %one = arith.constant 1.0 : f32
      tile.write %one, %O[%i] : f32 -> !tile.buffer<[r], f32>
      tile.yield
    }
  }
  tile.stage @round finish over ["hq"] {
    tile.foreach over ["4"] {
    ^bb0(%h: index, %n: index):
      %s = tile.read %S[%h, %n] : !tile.buffer<[hq, 4], f32> -> f32
      tile.write %s, %G[%h, %n] : f32 -> !tile.buffer<[hq, 4], f32>
      tile.yield
    }
  }
}

// -----

// Loops that stay: @next reads its neighbour's element, @few has other extents, @all adds to one element,
// @clamped reads an axis that is shorter than the loop, @after would pass the loop of @between, which changes
// what it reads, and @later belongs to another phase.
// CHECK-LABEL: tile.plan @apart
// CHECK-COUNT-9: tile.foreach
tile.plan @apart attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %A = tile.buffer "a" temporary : !tile.buffer<[r], f32>
  %B = tile.buffer "b" temporary : !tile.buffer<[r], f32>
  %C = tile.buffer "c" temporary {zero} : !tile.buffer<[], f32>
  %D = tile.buffer "d" temporary : !tile.buffer<[1], f32>
  %E = tile.buffer "e" temporary : !tile.buffer<[r], f32>
  %F = tile.buffer "f" temporary : !tile.buffer<[r], f32>
  %G = tile.buffer "g" temporary : !tile.buffer<[r], f32>
  tile.stage @first backward over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %one = arith.constant 1.0 : f32
      tile.write %one, %A[%i] : f32 -> !tile.buffer<[r], f32>
      tile.write %one, %D[%i] : f32 -> !tile.buffer<[1], f32>
      tile.yield
    }
  }
  tile.stage @next backward over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %c1 = arith.constant 1 : index
      %j = arith.addi %i, %c1 : index
      %a = tile.read %A[%j] : !tile.buffer<[r], f32> -> f32
      tile.write %a, %B[%i] : f32 -> !tile.buffer<[r], f32>
      tile.yield
    }
  }
  tile.stage @few backward over [] {
    tile.foreach over ["4"] {
    ^bb0(%i: index):
      %b = tile.read %B[%i] : !tile.buffer<[r], f32> -> f32
      tile.write %b, %E[%i] : f32 -> !tile.buffer<[r], f32>
      tile.yield
    }
  }
  tile.stage @all backward over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %one = arith.constant 1.0 : f32
      tile.accumulate %one, %C[] : f32 -> !tile.buffer<[], f32>
      tile.yield
    }
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %one = arith.constant 1.0 : f32
      tile.accumulate %one, %C[] : f32 -> !tile.buffer<[], f32>
      tile.yield
    }
  }
  tile.stage @clamped backward over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %d = tile.read %D[%i] : !tile.buffer<[1], f32> -> f32
      tile.write %d, %F[%i] : f32 -> !tile.buffer<[r], f32>
      tile.yield
    }
  }
  tile.stage @between backward over [] {
    tile.foreach over ["4"] {
    ^bb0(%i: index):
      %two = arith.constant 2.0 : f32
      tile.write %two, %A[%i] : f32 -> !tile.buffer<[r], f32>
      tile.yield
    }
  }
  tile.stage @after backward over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %a = tile.read %A[%i] : !tile.buffer<[r], f32> -> f32
      tile.write %a, %G[%i] : f32 -> !tile.buffer<[r], f32>
      tile.yield
    }
  }
  tile.stage @later finish over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %f = tile.read %F[%i] : !tile.buffer<[r], f32> -> f32
      tile.write %f, %F[%i] : f32 -> !tile.buffer<[r], f32>
      tile.yield
    }
  }
}
