// RUN: pe-opt %examples/shaw.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=NEAR
// RUN: pe-opt %examples/transformer_xl.mlir --pe-to-tile-pipeline="grad=1" | FileCheck %s --check-prefix=ANGLES
// A content term with few vectors is a number per row and near distance; the mask leaves 17 of 33. Far
// keys are summed over by a fold, near ones are written each to a place of its own.

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
