// RUN: pe-opt %examples/stick_breaking_attend_current.mlir --pe-prepare --pe-to-tile="grad=1" \
// RUN:   | FileCheck %s --check-prefix=CURRENT
// RUN: pe-opt %examples/stick_breaking_remainder.mlir --pe-prepare --pe-to-tile="grad=1" \
// RUN:   | FileCheck %s --check-prefix=REST
// RUN: pe-opt %examples/rse_bidirectional.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=BOTH
// RUN: pe-opt %examples/cross_attention.mlir --pe-prepare --pe-to-tile | FileCheck %s --check-prefix=CROSS

// The query's own key is inside the band; nothing else differs.
// CURRENT:     tile.pairs band(right = 1)
// CURRENT-NOT: foreach
// CURRENT:     tile.stage @attention_backward

// Every query needs its own key. The mass left is stored, and its cotangent is the start of U.
// REST-DAG:  tile.require "q_start" at_least "k_start" of
// REST-DAG:  tile.require "k_start + c" at_least "q_start + r" of
// REST:      tile.buffer "attention_part" temporary : <[b, hq, r, e], f32>
// REST:      tile.buffer "attention_rest" residual : <[b, hq, r], f32>
// REST:      tile.stage @attention_forward
// REST:      tile.stage @attention_sides forward
// REST:      tile.stage @attention_own_values backward
// REST:      tile.stage @attention_backward
// REST:        %[[START:.*]] = tile.load {{.*}} : <[b, hq, r], f32> -> <[r], f32>
// REST:        tile.stream ascending carry(%[[START]] :
// REST:      tile.stage @attention_sides_values finish over ["b", "hkv"]

// The second pass visits the later keys in the opposite order, with half of dO.
// BOTH:      tile.buffer "attention_after_mass" residual
// BOTH:      tile.stage @attention_forward {{.*}} pairs
// BOTH:        tile.stream descending
// BOTH:      tile.stage @attention_after_forward
// BOTH:        tile.stream ascending
// BOTH:      tile.stage @attention_share backward
// BOTH:      tile.stage @attention_backward
// BOTH:        tile.stream ascending
// BOTH:      tile.stage @attention_after_backward
// BOTH:        tile.stream descending
// BOTH:      tile.stage @attention_sides_queries finish
// BOTH:      tile.stage @attention_sides_keys finish
// BOTH:      tile.stage @attention_sides_values finish

// No query is at a negative position.
// CROSS: tile.plan @attention attributes {{.*}}unplaced
// CROSS: tile.parameter "q_start" default "max(0, k_start + c - r)"
