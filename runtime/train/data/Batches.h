//===- Batches.h - Which pieces of the text a step sees ---------*- C++ -*-===//
//
// Training batches are drawn by step number alone (a counter-based generator), so resuming needs
// no state and two runs with the same seed see the same text. Evaluation windows are fixed: evenly
// spaced over the held-out text, and the same for every context length.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_DATA_BATCHES_H
#define PE_RUNTIME_TRAIN_DATA_BATCHES_H

#include "pe/Error.h"

#include <cstdint>
#include <span>
#include <vector>

namespace pe::train {

/// Tokens and, for each, the token that follows: [sequences, length], row-major.
struct Batch {
  int64_t sequences = 0, length = 0;
  std::vector<int32_t> inputs, targets;

  /// Makes room for sequences * length tokens.
  void resize(int64_t newSequences, int64_t newLength);
  /// Sequence `row` becomes text[start, start + length) and the token that follows each one.
  void set(int64_t row, std::span<const uint8_t> text, int64_t start);
};

class BatchSampler {
public:
  /// An error if the text is too short for one sequence.
  static Expected<BatchSampler> create(std::span<const uint8_t> text, int64_t sequences,
                                       int64_t length, uint64_t seed);

  /// Uniformly random pieces of the text, determined by the seed and `step`.
  void fill(int64_t step, Batch &batch) const;

private:
  std::span<const uint8_t> text;
  int64_t sequences = 0, length = 0;
  uint64_t seed = 0;
};

/// Starts of `count` windows of `length` tokens (and the one after) spread evenly over `text`.
Expected<std::vector<int64_t>> evaluationWindows(std::span<const uint8_t> text, int64_t count,
                                                 int64_t length);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_DATA_BATCHES_H
