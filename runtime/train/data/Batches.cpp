//===- Batches.cpp - Which pieces of the text a step sees -----------------===//
//
// Random pieces for training, evenly spaced windows for evaluation.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/data/Batches.h"
#include "runtime/core/Random.h"

#include <string>

namespace pe::train {

void Batch::resize(int64_t newSequences, int64_t newLength) {
  sequences = newSequences;
  length = newLength;
  inputs.resize(sequences * length);
  targets.resize(sequences * length);
}

void Batch::set(int64_t row, std::span<const uint8_t> text, int64_t start) {
  for (int64_t i = 0; i < length; ++i) {
    inputs[row * length + i] = text[start + i];
    targets[row * length + i] = text[start + i + 1];
  }
}

Expected<BatchSampler> BatchSampler::create(std::span<const uint8_t> text, int64_t sequences,
                                            int64_t length, uint64_t seed) {
  if (static_cast<int64_t>(text.size()) < length + 1)
    return makeError("expected at least ", length + 1,
                     " characters to train on (--seq and one), found ", text.size(),
                     "; give more text with --data or a smaller --seq");
  BatchSampler sampler;
  sampler.text = text;
  sampler.sequences = sequences;
  sampler.length = length;
  sampler.seed = seed;
  return sampler;
}

void BatchSampler::fill(int64_t step, Batch &batch) const {
  batch.resize(sequences, length);
  Random random(seed, "batch." + std::to_string(step));
  for (int64_t row = 0; row < sequences; ++row)
    batch.set(row, text, static_cast<int64_t>(random.below(text.size() - length)));
}

Expected<std::vector<int64_t>> evaluationWindows(std::span<const uint8_t> text, int64_t count,
                                                 int64_t length) {
  int64_t last = static_cast<int64_t>(text.size()) - length - 1;
  if (last < 0)
    return makeError("expected at least ", length + 1,
                     " held-out characters (the longest of "
                     "--eval-lengths and one), found ",
                     text.size(), "; give more text with --data or smaller --eval-lengths");
  std::vector<int64_t> starts(count);
  for (int64_t i = 0; i < count; ++i)
    starts[i] = count == 1 ? 0 : last * i / (count - 1);
  return starts;
}

} // namespace pe::train
