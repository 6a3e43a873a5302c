// RUN: pe-opt %examples/shaw.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=NEAR
// RUN: pe-opt %examples/transformer_xl.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=ANGLES
// RUN: pe-opt %examples/music_transformer.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=PANEL
// RUN: pe-opt %examples/shaw_values.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=VALUES
// A content term with few vectors has a value per row and near distance; the mask keeps 17 of 33.
// Far keys are summed by a fold, and each near key is written to its own entry.

// NEAR:      %[[DQ:[0-9]+]] = tile.buffer "d_q"
// NEAR:      %[[SUMS:[0-9]+]] = tile.buffer {{.*}} temporary {zero} : <[b, hq, 17, r], f32>
// NEAR:      %[[T:[0-9]+]] = tile.buffer {{.*}} residual : <[b, hq, 17, r], f32>
// NEAR:      tile.stage {{.*}} prepare over ["b", "hq"]
// NEAR:        tile.write {{.*}}, %[[T]][
// NEAR:      tile.stage @attention_forward
// NEAR:        %[[X:.*]] = tile.near %[[T]] first 0 : <[b, hq, 17, r], f32> -> <[r, c], f32>
// NEAR:        tile.dot {{.*}} over d init(%[[X]]
// NEAR:      tile.stage @attention_backward
// NEAR:        tile.near %[[T]] first 0
// NEAR:        tile.near_grad %{{.*}}, %[[SUMS]] first 0
// NEAR:        tile.reduce {{ *}}add
// NEAR:      tile.stage {{.*}} finish over ["b", "hq"]
// NEAR:        tile.read %[[SUMS]][
// NEAR:        tile.write {{.*}} -> <[b, hq, 17, d], f64>
// NEAR:      tile.stage {{.*}} finish over ["b", "hq"]
// NEAR:        tile.write {{.*}}, %[[DQ]][

// A sum of sines and cosines is one more contraction, with features that all heads share.

// ANGLES:      %[[F:[0-9]+]] = tile.buffer {{.*}} residual : <[c, d], f32>
// ANGLES:      %[[ROWS:[0-9]+]] = tile.buffer {{.*}} residual : <[b, hq, r, d], f32>
// ANGLES:      tile.stage @attention_forward
// ANGLES:        %[[TURNED:.*]] = tile.load %[[ROWS]] : <[b, hq, r, d], f32> -> <[r, d], f32>
// ANGLES:        tile.stream ascending
// ANGLES:          %[[KEYS:.*]] = tile.load %[[F]] : <[c, d], f32> -> <[c, d], f32>
// ANGLES:          %[[X:.*]] = tile.dot %[[TURNED]], %[[KEYS]] over d
// ANGLES:          tile.dot {{.*}} over d init(%[[X]]
// ANGLES:      tile.stage {{.*}} finish over ["hq"]
// ANGLES:        tile.accumulate {{.*}} -> <[hq, d], f64>

// A separate vector per distance: contractions with a table of the vectors, which all heads share.
// A table that is too short for a call is rejected.

// PANEL:      tile.require "2048" at_least "q_start + r - k_start" of "entries of tensor 'er' for distances i - j >= 0"
// PANEL:      %[[DP:[0-9]+]] = tile.buffer {{.*}} temporary {zero} : <[b, hq, t, d], f32>
// PANEL:      %[[P:[0-9]+]] = tile.buffer {{.*}} residual : <[d, t], f32>
// PANEL:      tile.stage {{.*}} prepare over ["d"]
// PANEL:        tile.write {{.*}}, %[[P]][
// PANEL:      tile.stage @attention_forward
// PANEL:        %[[X:.*]] = tile.window_dot %{{.*}}, %[[P]] : <[r, d], f32>, <[d, t], f32> -> <[r, c], f32>
// PANEL:        tile.dot {{.*}} over d init(%[[X]]
// PANEL:      tile.stage @attention_backward
// PANEL:        tile.window_dot %{{.*}}, %[[P]]
// PANEL:        tile.window_outer %[[DS:.*]], %{{.*}}, %[[DP]] : <[r, c], f32>, <[r, d], f32> -> <[b, hq, t, d], f32>
// PANEL:        tile.window_sum %[[DS]], %[[P]]
// PANEL:      tile.stage {{.*}} finish over ["max(0, r + c - 1)"]
// PANEL:        tile.read %[[DP]][

// Few vectors that are added to the values: the stream writes the scores of near pairs and the
// weights of far ones, and a loop after it adds the vectors. Backward writes the weights.

// VALUES:      %[[O:[0-9]+]] = tile.buffer "o"
// VALUES:      tile.stage @attention_forward
// VALUES:        tile.near_grad %{{.*}}, %[[SCORES:[0-9]+]] first 0 : <[r, c], f32> -> <[b, hq, 17, r], f32>
// VALUES:        tile.reduce {{ *}}add
// VALUES:      tile.stage {{.*}} forward over ["b", "hq"]
// VALUES:        tile.read %[[SCORES]][
// VALUES:        tile.write {{.*}}, %[[O]][
// VALUES:      tile.stage {{.*}} backward over ["b", "hq"]
// VALUES:        tile.write {{.*}}, %[[PRODUCTS:[0-9]+]][
// VALUES:      tile.stage @attention_backward
// VALUES:        tile.near_grad %{{.*}}, %[[WEIGHTS:[0-9]+]] first 0
// VALUES:        tile.near %[[PRODUCTS]] first 0
// VALUES:      tile.stage {{.*}} finish over ["b", "hq"]
// VALUES:        tile.read %[[WEIGHTS]][
// VALUES:        tile.write {{.*}} -> <[b, hq, 17, e], f64>
