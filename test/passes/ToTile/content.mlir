// RUN: pe-opt %examples/shaw.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=NEAR
// RUN: pe-opt %examples/transformer_xl.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=ANGLES
// RUN: pe-opt %examples/music_transformer.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=PANEL
// RUN: pe-opt %examples/shaw_values.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=VALUES
// A content term with few vectors has a value per row and near distance; the mask keeps 17 of 33.
// Far keys are summed by a fold, and each near key is written to its own entry.

// NEAR:      tile.stage @attention_content0_prepare_products {{ *}}prepare over ["b", "hq"]
// NEAR:      tile.stage @attention_forward
// NEAR:        %[[X:.*]] = tile.near %[[T:.*]] first 0 : <[b, hq, 17, r], f32> -> <[r, c], f32>
// NEAR:        tile.dot {{.*}} over d init(%[[X]]
// NEAR:      tile.stage @attention_backward
// NEAR:        tile.near %[[T]] first 0
// NEAR:        tile.near_grad %{{.*}}, %{{.*}} first 0
// NEAR:        tile.reduce {{ *}}add
// NEAR:      tile.stage @attention_content0_finish_vectors {{ *}}finish over ["b", "hq"]
// NEAR:      tile.stage @attention_d_queries {{ *}}finish over ["b", "hq"]

// A sum of sines and cosines is one more contraction, with features that all heads share.

// ANGLES:      %[[F:.*]] = tile.buffer "attention_content0_features" {{ *}}residual : <[c, d], f32>
// ANGLES:      %[[ROWS:.*]] = tile.buffer "attention_content0_turned"
// ANGLES:      tile.stage @attention_forward
// ANGLES:        %[[TURNED:.*]] = tile.load %[[ROWS]] : <[b, hq, r, d], f32> -> <[r, d], f32>
// ANGLES:        tile.stream ascending
// ANGLES:          %[[KEYS:.*]] = tile.load %[[F]] : <[c, d], f32> -> <[c, d], f32>
// ANGLES:          %[[X:.*]] = tile.dot %[[TURNED]], %[[KEYS]] over d
// ANGLES:          tile.dot {{.*}} over d init(%[[X]]
// ANGLES:      tile.stage @attention_content0_d_shift {{ *}}finish over ["hq"]

// A separate vector per distance: contractions with a table of the vectors, which all heads share.
// A table that is too short for a call is rejected.

// PANEL:      tile.require "2048" at_least "q_start + r - k_start" of "entries of tensor 'er' for distances i - j >= 0"
// PANEL:      %[[P:.*]] = tile.buffer "attention_content0_panel" {{ *}}residual : <[d, t], f32>
// PANEL:      tile.stage @attention_content0_prepare_panel {{ *}}prepare over ["d"]
// PANEL:      tile.stage @attention_forward
// PANEL:        %[[X:.*]] = tile.window_dot %{{.*}}, %[[P]] : <[r, d], f32>, <[d, t], f32> -> <[r, c], f32>
// PANEL:        tile.dot {{.*}} over d init(%[[X]]
// PANEL:      tile.stage @attention_backward
// PANEL:        tile.window_dot %{{.*}}, %[[P]]
// PANEL:        tile.window_outer %[[DS:.*]], %{{.*}}, %{{.*}} : <[r, c], f32>, <[r, d], f32> -> <[b, hq, t, d], f32>
// PANEL:        tile.window_sum %[[DS]], %[[P]]
// PANEL:      tile.stage @attention_content0_finish_panel {{ *}}finish over ["max(0, r + c - 1)"]

// Few vectors that are added to the values: the stream writes the scores of near pairs and the
// weights of far ones, and a loop after it adds the vectors. Backward writes the weights.

// VALUES:      tile.stage @attention_forward
// VALUES:        tile.near_grad %{{.*}}, %[[SCORES:.*]] first 0 : <[r, c], f32> -> <[b, hq, 17, r], f32>
// VALUES:        tile.reduce {{ *}}add
// VALUES:      tile.stage @attention_values_output {{ *}}forward over ["b", "hq"]
// VALUES:      tile.stage @attention_values_products {{ *}}backward over ["b", "hq"]
// VALUES:      tile.stage @attention_backward
// VALUES:        tile.near_grad %{{.*}}, %[[WEIGHTS:.*]] first 0
// VALUES:        %[[PRODUCTS:.*]] = tile.near %{{.*}} first 0
// VALUES:      tile.stage @attention_values_finish_vectors {{ *}}finish over ["b", "hq"]
