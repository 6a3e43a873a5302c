//===- Work.h - Pieces of a batch -------------------------------*- C++ -*-===//
//
// A batch of sequences is divided into pieces of at most 256 tokens of one sequence. Between two
// attentions, each layer processes one piece at a time, so that its activations stay in the cache.
// Weight gradients, which sum over all tokens, are computed after all pieces of a stage
// (WeightGradients.h). Pieces depend only on the shape of the batch, never on the number of
// threads, which makes training bitwise reproducible.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_WORK_H
#define PE_RUNTIME_TRAIN_MODEL_WORK_H

#include "pe/Parallel.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace pe::train {

/// Consecutive tokens of one sequence.
struct Piece {
  int64_t sequence = 0;
  /// The position of the first token in its sequence, and its row in the batch.
  int64_t position = 0;
  int64_t row = 0;
  int64_t rows = 0;
};

inline constexpr int64_t kPieceRows = 256;

/// Returns the pieces of a batch [sequences, length], in order, each of at most `most` tokens.
inline std::vector<Piece> piecesOf(int64_t sequences, int64_t length, int64_t most = kPieceRows) {
  std::vector<Piece> pieces;
  for (int64_t sequence = 0; sequence < sequences; ++sequence)
    for (int64_t position = 0; position < length; position += most)
      pieces.push_back(
          {sequence, position, sequence * length + position, std::min(most, length - position)});
  return pieces;
}

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_WORK_H
