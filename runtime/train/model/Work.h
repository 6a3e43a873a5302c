//===- Work.h - How a batch is divided --------------------------*- C++ -*-===//
//
// A batch of sequences is cut into pieces of at most 256 tokens of one sequence; between two
// attentions every layer processes a piece on its own, so its activations stay in the cache. The
// gradients of weights, which sum over all tokens, are computed when all pieces of a stage are done
// (WeightGradients.h). Pieces follow from the shape of the batch alone, never from the number of
// threads: that makes training bitwise reproducible.
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
  /// Position of the first token in its sequence, and in the batch.
  int64_t position = 0;
  int64_t row = 0;
  int64_t rows = 0;
};

inline constexpr int64_t kPieceRows = 256;

/// The pieces of a batch [sequences, length], in order, of at most `most` tokens.
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
