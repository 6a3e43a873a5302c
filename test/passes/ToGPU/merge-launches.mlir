// RUN: pe-opt %s --split-input-file --pe-tile-to-gpu --pe-merge-launches | FileCheck %s
// RUN: pe-opt %s --split-input-file --pe-tile-to-gpu --pe-merge-launches --pe-merge-launches | FileCheck %s

// @b needs nothing from @a, so both are one launch. The first CTAs are those of @a; the index of a CTA of
// @b is its distance from them. @c reads what @a writes. @d needs @b alone and joins @c; its buffer, which
// the plan lists later, moves with it.
// CHECK-LABEL: tile.plan @independent
// CHECK:       %[[Z:.*]] = tile.buffer "z" temporary
// CHECK:       tile.launch @independent_a_and_b backward items "ceildiv(b*r,128)+ceildiv(c,128)"
// CHECK-SAME:  {{.*}}threads = 128 : i64, words = array<i32: {{[0-9, ]+}}>, writes = array<i64: 1, 2>}
// CHECK:       %[[W:.*]] = tile.buffer "w" temporary
// CHECK:       tile.launch @independent_c_and_d finish items "ceildiv(b*r,128)+ceildiv(c,128)"
// CHECK-SAME:  %[[W]]
// CHECK-NOT:   tile.launch
// CHECK:       llvm.func @independent_a_and_b(
// CHECK-SAME:  !llvm.ptr<1> {llvm.noalias, llvm.readonly}
// CHECK:       %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK-NOT:   nvvm.read.ptx.sreg.ctaid.x
// CHECK:       %[[BLOCK:.*]] = arith.extui %[[CTA]] : i32 to i64
// CHECK:       %[[IS_A:.*]] = arith.cmpi ult, %[[BLOCK]], %[[CTAS:.*]] : i64
// CHECK:       %[[OF_A:.*]] = arith.trunci %[[CTAS]] : i64 to i32
// CHECK:       %[[OF_B:.*]] = arith.subi %[[CTA]], %[[OF_A]] : i32
// CHECK:       scf.if %[[IS_A]] {
// CHECK:         arith.extsi %[[CTA]]
// CHECK:       } else {
// CHECK:         arith.extsi %[[OF_B]]
// CHECK:       llvm.return
tile.plan @independent attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %X = tile.buffer "x" argument : !tile.buffer<[b, r], f32>
  %Y = tile.buffer "y" temporary : !tile.buffer<[b, r], f32>
  tile.stage @a backward over [] {
    tile.foreach over ["b", "r"] {
    ^bb0(%b: index, %i: index):
      %x = tile.read %X[%b, %i] : !tile.buffer<[b, r], f32> -> f32
      tile.write %x, %Y[%b, %i] : f32 -> !tile.buffer<[b, r], f32>
      tile.yield
    }
  }
  %Z = tile.buffer "z" temporary : !tile.buffer<[c], f32>
  tile.stage @b backward over [] {
    tile.foreach over ["c"] {
    ^bb0(%j: index):
      %zero = arith.constant 0.0 : f32
      tile.write %zero, %Z[%j] : f32 -> !tile.buffer<[c], f32>
      tile.yield
    }
  }
  tile.stage @c finish over [] {
    tile.foreach over ["b", "r"] {
    ^bb0(%b: index, %i: index):
      %y = tile.read %Y[%b, %i] : !tile.buffer<[b, r], f32> -> f32
      tile.write %y, %Y[%b, %i] : f32 -> !tile.buffer<[b, r], f32>
      tile.yield
    }
  }
  %W = tile.buffer "w" temporary : !tile.buffer<[c], f32>
  tile.stage @d finish over [] {
    tile.foreach over ["c"] {
    ^bb0(%j: index):
      %z = tile.read %Z[%j] : !tile.buffer<[c], f32> -> f32
      tile.write %z, %W[%j] : f32 -> !tile.buffer<[c], f32>
      tile.yield
    }
  }
}

// -----

// Nothing is merged: a caller may pass a part of a preparation; forward runs without backward; @late reads
// what @early writes, and @again writes what @late reads; @some runs only in calls with several rows.
// CHECK-LABEL: tile.plan @apart
// CHECK:       tile.launch @apart_table prepare
// CHECK:       tile.launch @apart_other prepare
// CHECK:       tile.launch @apart_early forward
// CHECK:       tile.launch @apart_late backward
// CHECK:       tile.launch @apart_again backward
// CHECK:       tile.launch @apart_some backward items "ceildiv(c,128)" when "r - 1"
tile.plan @apart attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  %P = tile.buffer "p" residual : !tile.buffer<[r], f32>
  %Q = tile.buffer "q" residual : !tile.buffer<[c], f32>
  %E = tile.buffer "e" residual : !tile.buffer<[r], f32>
  %L = tile.buffer "l" temporary : !tile.buffer<[r], f32>
  %S = tile.buffer "s" temporary : !tile.buffer<[c], f32>
  tile.stage @table prepare over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %zero = arith.constant 0.0 : f32
      tile.write %zero, %P[%i] : f32 -> !tile.buffer<[r], f32>
      tile.yield
    }
  }
  tile.stage @other prepare over [] {
    tile.foreach over ["c"] {
    ^bb0(%j: index):
      %zero = arith.constant 0.0 : f32
      tile.write %zero, %Q[%j] : f32 -> !tile.buffer<[c], f32>
      tile.yield
    }
  }
  tile.stage @early forward over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %p = tile.read %P[%i] : !tile.buffer<[r], f32> -> f32
      tile.write %p, %E[%i] : f32 -> !tile.buffer<[r], f32>
      tile.yield
    }
  }
  tile.stage @late backward over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %e = tile.read %E[%i] : !tile.buffer<[r], f32> -> f32
      tile.write %e, %L[%i] : f32 -> !tile.buffer<[r], f32>
      tile.yield
    }
  }
  tile.stage @again backward over [] {
    tile.foreach over ["r"] {
    ^bb0(%i: index):
      %one = arith.constant 1.0 : f32
      tile.write %one, %E[%i] : f32 -> !tile.buffer<[r], f32>
      tile.yield
    }
  }
  tile.stage @some backward over [] when "r - 1" {
    tile.foreach over ["c"] {
    ^bb0(%j: index):
      %one = arith.constant 1.0 : f32
      tile.write %one, %S[%j] : f32 -> !tile.buffer<[c], f32>
      tile.yield
    }
  }
}
