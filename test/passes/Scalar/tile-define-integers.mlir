// RUN: pe-opt %s --pass-pipeline='builtin.module(tile.plan(pe-tile-define-integers))' | FileCheck %s

// Values that fit in 32 bits keep type index; a product of positions does not fit.
tile.plan @plan attributes {head_dim = 16 : i64, value_dim = 16 : i64} {
  %q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %k = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %t = tile.buffer "t" argument : !tile.buffer<[64], f32>
  %out = tile.buffer "out" result : !tile.buffer<[64], f32>
  %c7 = arith.constant 7 : index
  tile.stage @products prepare over ["b", "hq"] {
    tile.foreach over ["r", "c"] {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      // CHECK-LABEL: tile.stage @products
      // CHECK: %[[D:.*]] = arith.subi %[[I:.*]], %[[J:.*]] : index
      // CHECK-NOT: arith.subi
      // CHECK: %[[N:.*]] = arith.index_cast %[[D]] : index to i32
      // CHECK: arith.sitofp %[[N]] : i32 to f32
      %d = arith.subi %i, %j overflow<nsw> : index
      %dw = arith.index_cast %d : index to i64
      %df = arith.sitofp %dw : i64 to f32
      // CHECK: %[[P:.*]] = arith.muli %{{.*}}, %{{.*}} : i64
      // CHECK: arith.sitofp %[[P]] : i64 to f32
      %p = arith.muli %i, %j : index
      %pw = arith.index_cast %p : index to i64
      %pf = arith.sitofp %pw : i64 to f32
      %s = arith.addf %df, %pf : f32
      // An index that may not fit is clamped while it is i64.
      // CHECK: %[[LOW:.*]] = arith.maxsi %[[P]], %{{.*}} : i64
      // CHECK: %[[BOTH:.*]] = arith.minsi %[[LOW]], %{{.*}} : i64
      // CHECK: %[[AT:.*]] = arith.index_cast %[[BOTH]] : i64 to index
      // CHECK: tile.read %{{.*}}[%[[AT]]]
      %x = tile.read %t[%p] : <[64], f32> -> f32
      // A remainder of an i64 is an index again.
      // CHECK: %[[R:.*]] = arith.remsi %[[P]], %{{.*}} : i64
      // CHECK: %[[RI:.*]] = arith.index_cast %[[R]] : i64 to index
      // CHECK: tile.accumulate %{{.*}}, %{{.*}}[%[[RI]]]
      %m = arith.remsi %p, %c7 : index
      %y = arith.addf %s, %x : f32
      tile.accumulate %y, %out[%m] : f32 -> <[64], f32>
      tile.yield
    }
  }
  // The divisor may be 0: a select handles that, and the lowest number divided by -1 wraps around.
  tile.stage @divisions prepare over [] {
    tile.foreach over ["64"] {
    ^bb0(%n: index):
      // CHECK-LABEL: tile.stage @divisions
      // CHECK: %[[A:.*]] = arith.index_cast %[[X:.*]] : index to i32
      // CHECK: %[[SAFE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[A]] : i32
      // CHECK: arith.divsi %{{.*}}, %[[SAFE]] : i32
      // CHECK: arith.select
      %a = arith.index_cast %n : index to i32
      %c100 = arith.constant 100 : i32
      %z = arith.divsi %c100, %a : i32
      // CHECK-NOT: arith.select
      // CHECK: arith.remui %{{.*}}, %{{.*}} : i32
      // CHECK-NOT: arith.select
      // CHECK: arith.minui
      // CHECK: arith.shli
      // CHECK: arith.select
      %r = arith.remui %z, %c100 : i32
      %l = arith.shli %r, %z : i32
      // CHECK: arith.divsi
      // CHECK: arith.muli
      // CHECK: arith.subi
      // CHECK-NOT: arith.floordivsi
      %g = arith.floordivsi %l, %c100 : i32
      %f = arith.sitofp %g : i32 to f32
      // A zero-extended boolean is 0 or 1.
      // CHECK: %[[E:.*]] = arith.extui %{{.*}} : i1 to i32
      // CHECK: arith.index_cast %[[E]] : i32 to index
      // CHECK-NOT: arith.index_castui
      %p = arith.cmpi sgt, %n, %c7 : index
      %u = arith.index_castui %p : i1 to index
      tile.write %f, %out[%u] : f32 -> <[64], f32>
      tile.yield
    }
  }
}
