//===- Evaluate.h - Bits per character at several lengths -------*- C++ -*-===//
//
// The same characters are scored every time; only the context before them grows: the last 128 of
// each window, given the last `length` characters. So a difference between two lengths is the
// effect of the context (and of extrapolation beyond the trained length), not of the text. With the
// masked objective, what is scored is what is masked of these characters, the same for every
// length. A task has exercises of each length, and what is scored is what they ask in their second
// half.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_EVALUATE_H
#define PE_RUNTIME_TRAIN_TRAINER_EVALUATE_H

#include "runtime/train/model/Decoder.h"

#include <map>

namespace pe::train {

struct Evaluation {
  /// Context lengths to score with.
  std::vector<int64_t> lengths = {256, 512, 1024, 2048};
  int64_t windows = 64;
  int64_t scored = 128;
};

/// Context length -> bits per character (or byte, token) over what is scored of `heldOut`. Of a
/// task `accuracy` becomes the share of answers whose logit is the largest.
Expected<std::map<int64_t, double>> evaluate(Decoder &model, const Text &heldOut,
                                             const BatchRules &rules, const Evaluation &evaluation,
                                             ParallelFor &parallel,
                                             std::map<int64_t, double> *accuracy = nullptr);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_EVALUATE_H
