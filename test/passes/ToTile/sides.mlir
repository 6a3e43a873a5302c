// RUN: pe-opt %examples/stick_breaking_attend_current.mlir --pe-prepare --pe-expand-masks --pe-to-tile="grad=1" \
// RUN:   | FileCheck %s --check-prefix=CURRENT
// RUN: pe-opt %examples/stick_breaking_remainder.mlir --pe-prepare --pe-expand-masks --pe-to-tile="grad=1" \
// RUN:   | FileCheck %s --check-prefix=REST
// RUN: pe-opt %examples/rse_bidirectional.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=BOTH
// RUN: pe-opt %examples/cross_attention.mlir --pe-prepare --pe-expand-masks --pe-to-tile \
// RUN:   | FileCheck %s --check-prefix=CROSS

// The query's own key is inside the band; nothing else differs.
// CURRENT:     tile.pairs band(right = 1)
// CURRENT-NOT: foreach
// CURRENT:     tile.stage @attention_backward

// Every query needs its own key. The mass left is stored, and its cotangent is the start of U.
// REST-DAG:  tile.require "q_start" at_least "k_start" of
// REST-DAG:  tile.require "k_start + c" at_least "q_start + r" of
// REST:      %[[O:[0-9]+]] = tile.buffer "o"
// REST:      %[[D_MASS:[0-9]+]] = tile.buffer {{.*}} temporary : <[b, hq, r], f32>
// REST:      %[[PART:[0-9]+]] = tile.buffer {{.*}} temporary : <[b, hq, r, e], f32>
// REST:      %[[MASS:[0-9]+]] = tile.buffer {{.*}} residual : <[b, hq, r], f32>
// REST:      tile.stage @attention_forward
// REST-DAG:    tile.store {{.*}}, %[[PART]] :
// REST-DAG:    tile.store {{.*}}, %[[MASS]] :
// REST:      tile.stage {{.*}} forward
// REST-DAG:    tile.read %[[PART]][
// REST-DAG:    tile.read %[[MASS]][
// REST:        tile.write {{.*}}, %[[O]][
// REST:      tile.stage {{.*}} backward
// REST:        tile.write {{.*}}, %[[D_MASS]][
// REST:      tile.stage @attention_backward
// REST:        %[[START:.*]] = tile.load %[[D_MASS]] : <[b, hq, r], f32> -> <[r], f32>
// REST:        tile.stream ascending carry(%[[START]] :
// REST:      tile.stage {{.*}} finish over ["b", "hkv"]
// REST:        tile.read %[[MASS]][

// The second pass visits the later keys in the opposite order, with half of dO.
// BOTH:      %[[DO:[0-9]+]] = tile.buffer "d_o"
// BOTH:      %[[BEFORE:[0-9]+]] = tile.buffer {{.*}} residual : <[b, hq, kb, r], f32>
// BOTH:      %[[AFTER:[0-9]+]] = tile.buffer {{.*}} residual : <[b, hq, kb, r], f32>
// BOTH:      tile.stage @attention_forward {{.*}} pairs
// BOTH:        tile.stream descending
// BOTH:        tile.store {{.*}}, %[[BEFORE]] :
// BOTH:      tile.stage {{.*}} forward {{.*}} pairs
// BOTH:        tile.stream ascending
// BOTH:        tile.store {{.*}}, %[[AFTER]] :
// BOTH:      tile.stage {{.*}} backward
// BOTH:        tile.read %[[DO]][
// BOTH:        tile.write {{.*}}, %[[HALF:[0-9]+]][
// BOTH:      tile.stage @attention_backward
// BOTH:        tile.load %[[HALF]] :
// BOTH:        tile.stream ascending
// BOTH:      tile.stage {{.*}} backward {{.*}} pairs
// BOTH:        tile.load %[[HALF]] :
// BOTH:        tile.stream descending
// The gradients of both passes are added.
// BOTH:      tile.stage {{.*}} finish over ["b", "hq"]
// BOTH:        arith.addf
// BOTH:      tile.stage {{.*}} finish over ["b", "hkv"]
// BOTH:        arith.addf
// BOTH:      tile.stage {{.*}} finish over ["b", "hkv"]
// BOTH:        arith.addf

// No query is at a negative position.
// CROSS: tile.plan @attention attributes {{.*}}unplaced
// CROSS: tile.parameter "q_start" default "max(0, k_start + c - r)"
