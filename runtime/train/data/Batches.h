//===- Batches.h - The batches of training and evaluation -------*- C++ -*-===//
//
// Training batches depend only on the seed and the step number (a counter-based generator), so
// resuming needs no state, and two runs with the same seed see the same text. Evaluation windows
// are fixed: evenly spaced over the held-out text, and the same for every context length.
//
// Each token has a target and a weight. Causal: the target is the next token, and every weight is
// 1. Task (Task.h): the target is the next token, and the weight is 1 if the task asks for it.
// Masked: the targets are about 15% of the tokens themselves; in the model's input, 80% of them are
// replaced by the mask token, 10% by another token, and 10% are unchanged (Devlin et al. 2019).
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_DATA_BATCHES_H
#define PE_RUNTIME_TRAIN_DATA_BATCHES_H

#include "runtime/core/Random.h"
#include "runtime/train/data/Corpus.h"

#include <span>

namespace pe::train {

enum class Objective : uint8_t { Causal, Masked };
/// Parses "causal" or "masked".
Expected<Objective> parseObjective(std::string_view name);

/// The rules by which batches are formed from the text.
struct BatchRules {
  Objective objective = Objective::Causal;
  /// True if sequences begin with a prefix that all their tokens see and that has no targets.
  bool prefixes = false;
  /// The mask token. All tokens of the text are less than this.
  int32_t maskToken = 0;
};

/// The tokens of a batch with their targets: [sequences, length], row-major.
struct Batch {
  int64_t sequences = 0, length = 0;
  std::vector<int32_t> inputs, targets;
  /// The weight of each token in the loss; 0 excludes the token.
  std::vector<float> weights;
  /// The document of each token, numbered from 0 in its sequence.
  std::vector<int32_t> documents;
  /// The prefix length of each sequence.
  std::vector<int32_t> prefixes;
  /// The random seed, different for every batch of a run; 0 in evaluation.
  uint64_t seed = 0;
  /// Enables dropout.
  bool training = false;

  /// Resizes to sequences * length tokens, each with weight 1, in one document, without prefixes.
  void resize(int64_t newSequences, int64_t newLength);
  /// Sets sequence `row` to text[start, start + length), with the next tokens as targets.
  void set(int64_t row, const Text &text, int64_t start);
  /// Sets sequence `row` to an exercise of a task. Only the questions in [first, length) get a
  /// weight.
  void set(int64_t row, const Task &task, Random &random, int64_t first);
  /// Masks some of the tokens [first, length) of a sequence; these become the targets.
  void mask(int64_t row, int64_t first, const BatchRules &rules, Random &random);
  /// Gives a sequence a prefix of `count` tokens, and sets the weights of targets inside it to 0.
  void setPrefix(int64_t row, int64_t count);
  double totalWeight() const;
};

/// Returns an error if `length`, the value of `flag`, is less than `least`, the task's minimum.
Status checkTaskLength(const Task &task, int64_t length, const char *flag, int64_t least);

class BatchSampler {
public:
  /// Returns an error if the text is shorter than one sequence, or a sequence is too short for the
  /// task.
  static Expected<BatchSampler> create(const Text &text, int64_t sequences, int64_t length,
                                       uint64_t seed, const BatchRules &rules = {});

  /// Fills `batch` with uniformly random pieces of the text, determined by the seed and `step`.
  void fill(int64_t step, Batch &batch) const;

private:
  const Text *text = nullptr;
  int64_t sequences = 0, length = 0;
  uint64_t seed = 0;
  BatchRules rules;
};

/// Returns the starts of `count` windows of `length` + 1 tokens, evenly spaced over `text`.
Expected<std::vector<int64_t>> evaluationWindows(const Text &text, int64_t count, int64_t length);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_DATA_BATCHES_H
