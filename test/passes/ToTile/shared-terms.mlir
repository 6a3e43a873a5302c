// RUN: pe-opt %s --pe-to-tile-pipeline="grad=1" --split-input-file | FileCheck %s
// Attentions with the same function of positions and parameters share its tables. Each attention
// has separate sums, which one finish stage chains to the parameters.
!t = tensor<?x?x?x?xf32>
// CHECK-LABEL:    tile.plan @same
// CHECK:          %[[DS:[0-9]+]] = tile.buffer "d_s"
// CHECK:          %[[SUMS2:[0-9]+]] = tile.buffer {{.*}} temporary {zero} : <[b, hq, t], f32>
// CHECK:          %[[SUMS1:[0-9]+]] = tile.buffer {{.*}} temporary {zero} : <[b, hq, t], f32>
// CHECK:          %[[TABLE:[0-9]+]] = tile.buffer {{.*}} residual : <[hq, t], f32>
// CHECK:          tile.stage {{.*}} prepare
// CHECK:            tile.write {{.*}}, %[[TABLE]][
// CHECK-NOT:      tile.stage {{.*}} prepare
// CHECK:          tile.stage {{.*}} forward over
// CHECK:            tile.window %[[TABLE]] :
// CHECK:          tile.stage {{.*}} forward over
// CHECK:            tile.window %[[TABLE]] :
// CHECK:          tile.stage {{.*}} backward over
// CHECK:            tile.window_grad %{{.*}}, %[[SUMS2]] :
// CHECK-NOT:      finish over
// CHECK:          tile.stage {{.*}} backward over
// CHECK:            tile.window_grad %{{.*}}, %[[SUMS1]] :
// CHECK:          tile.stage {{.*}} finish
// CHECK-DAG:        tile.read %[[SUMS1]][
// CHECK-DAG:        tile.read %[[SUMS2]][
// CHECK:          tile.stage {{.*}} finish
// CHECK:            tile.write {{.*}}, %[[DS]][
func.func @same(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                %q2: !t {pe.name = "q2"}, %k2: !t {pe.name = "k2"}, %v2: !t {pe.name = "v2"},
                %s: tensor<?xf32> {pe.name = "s"}) -> (!t {pe.name = "o"}, !t {pe.name = "o2"}) {
  %d = pe.distance
  %b = pe.linear %d slope(%s : tensor<?xf32>)
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%mask) : (!t, !t, !t) -> !t
  %o2 = pe.attention %q2, %k2, %v2 bias(%b) mask(%mask) : (!t, !t, !t) -> !t
  return %o, %o2 : !t, !t
}

// -----
!t = tensor<?x?x?x?xf32>
// Another parameter or another mask needs another table.
// CHECK-LABEL:    tile.plan @other
// CHECK:          %[[TABLE1:[0-9]+]] = tile.buffer {{.*}} residual : <[hq, t], f32>
// CHECK:          %[[TABLE2:[0-9]+]] = tile.buffer {{.*}} residual : <[hq, t], f32>
// CHECK:          %[[TABLE3:[0-9]+]] = tile.buffer {{.*}} residual : <[hq, t], f32>
// CHECK:          tile.stage {{.*}} forward over
// CHECK:            tile.window %[[TABLE1]] :
// CHECK:          tile.stage {{.*}} forward over
// CHECK:            tile.window %[[TABLE2]] :
// CHECK:          tile.stage {{.*}} forward over
// CHECK:            tile.window %[[TABLE3]] :
func.func @other(%q: !t {pe.name = "q"}, %k: !t {pe.name = "k"}, %v: !t {pe.name = "v"},
                 %q2: !t {pe.name = "q2"}, %k2: !t {pe.name = "k2"}, %v2: !t {pe.name = "v2"},
                 %q3: !t {pe.name = "q3"}, %k3: !t {pe.name = "k3"}, %v3: !t {pe.name = "v3"},
                 %s: tensor<?xf32> {pe.name = "s"}, %u: tensor<?xf32> {pe.name = "u"})
    -> (!t {pe.name = "o"}, !t {pe.name = "o2"}, !t {pe.name = "o3"}) {
  %d = pe.distance
  %b = pe.linear %d slope(%s : tensor<?xf32>)
  %c = pe.linear %d slope(%u : tensor<?xf32>)
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%b) mask(%mask) : (!t, !t, !t) -> !t
  %o2 = pe.attention %q2, %k2, %v2 bias(%c) mask(%mask) : (!t, !t, !t) -> !t
  %o3 = pe.attention %q3, %k3, %v3 bias(%b) : (!t, !t, !t) -> !t
  return %o, %o2, %o3 : !t, !t, !t
}
