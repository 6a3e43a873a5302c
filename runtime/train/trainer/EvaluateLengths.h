//===- EvaluateLengths.h - Bits per character at several lengths -*- C++ -*-===//
//
// The same characters are scored at every length, only with more context before them: the last 128
// of each window, given the last `length` characters. A difference between two lengths is therefore
// the effect of the context (and of extrapolation beyond the trained length), not of the text. With
// the masked objective, the masked characters among these are scored, the same ones for every
// length. A task generates exercises of each length, and the questions in their second half are
// scored.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_EVALUATELENGTHS_H
#define PE_RUNTIME_TRAIN_TRAINER_EVALUATELENGTHS_H

#include "runtime/train/model/Decoder.h"

#include <map>

namespace pe::train {

struct Evaluation {
  /// Context lengths to evaluate.
  std::vector<int64_t> lengths = {256, 512, 1024, 2048};
  int64_t windows = 64;
  int64_t scored = 128;
};

/// Returns context length -> bits per character (or byte, token) over the scored targets of
/// `heldOut`. For a task, `accuracy` is set to the share of answers with the largest logit.
Expected<std::map<int64_t, double>> evaluate(Decoder &model, const Text &heldOut,
                                             const BatchRules &rules, const Evaluation &evaluation,
                                             ParallelFor &parallel,
                                             std::map<int64_t, double> *accuracy = nullptr);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_EVALUATELENGTHS_H
