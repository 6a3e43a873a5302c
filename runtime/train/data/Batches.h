//===- Batches.h - Which pieces of the text a step sees ---------*- C++ -*-===//
//
// Training batches are drawn by step number alone (a counter-based generator), so resuming needs
// no state and two runs with the same seed see the same text. Evaluation windows are fixed: evenly
// spaced over the held-out text, and the same for every context length.
//
// What is learned is a target and a weight per token. Causal: the next token, each with weight 1.
// Of a task (Task.h) the next token, where it is asked. Masked: about 15 % of the tokens
// themselves; the model sees a mask token in place of 80 % of these, another token in place of 10
// %, and 10 % as they are (Devlin et al. 2019).
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_DATA_BATCHES_H
#define PE_RUNTIME_TRAIN_DATA_BATCHES_H

#include "runtime/core/Random.h"
#include "runtime/train/data/Corpus.h"

#include <span>

namespace pe::train {

enum class Objective : uint8_t { Causal, Masked };
/// "causal" or "masked".
Expected<Objective> parseObjective(std::string_view name);

/// What batches are made of besides the text.
struct BatchRules {
  Objective objective = Objective::Causal;
  /// Sequences begin with a part that all their tokens see, and of which nothing is learned.
  bool prefixes = false;
  /// Tokens of the text are below this, and it is the mask token.
  int32_t maskToken = 0;
};

/// Tokens and what is learned at each: [sequences, length], row-major.
struct Batch {
  int64_t sequences = 0, length = 0;
  std::vector<int32_t> inputs, targets;
  /// How much the loss of each token counts; 0: not at all.
  std::vector<float> weights;
  /// The document of each token: 0, 1 ... in its sequence.
  std::vector<int32_t> documents;
  /// Of each sequence: the length of its prefix.
  std::vector<int32_t> prefixes;
  /// Different for every batch of a run; 0 in evaluation.
  uint64_t seed = 0;
  /// False: nothing is dropped out.
  bool training = false;

  /// Makes room for sequences * length tokens, each of weight 1, in one document, without prefix.
  void resize(int64_t newSequences, int64_t newLength);
  /// Sequence `row` becomes text[start, start + length), and its targets the next tokens.
  void set(int64_t row, const Text &text, int64_t start);
  /// Sequence `row` becomes an exercise of a task; of those that it asks, what is learned is in
  /// [first, length).
  void set(int64_t row, const Task &task, Random &random, int64_t first);
  /// Hides some of the tokens [first, length) of a sequence, which are what is learned then.
  void mask(int64_t row, int64_t first, const BatchRules &rules, Random &random);
  /// Gives a sequence a prefix of `count` tokens; nothing is learned of what it shows.
  void setPrefix(int64_t row, int64_t count);
  double totalWeight() const;
};

/// An error if the length that `flag` gives is below `least`, what the task needs.
Status checkTaskLength(const Task &task, int64_t length, const char *flag, int64_t least);

class BatchSampler {
public:
  /// An error if the text is too short for one sequence, or a sequence for the task.
  static Expected<BatchSampler> create(const Text &text, int64_t sequences, int64_t length,
                                       uint64_t seed, const BatchRules &rules = {});

  /// Uniformly random pieces of the text, determined by the seed and `step`.
  void fill(int64_t step, Batch &batch) const;

private:
  const Text *text = nullptr;
  int64_t sequences = 0, length = 0;
  uint64_t seed = 0;
  BatchRules rules;
};

/// Starts of `count` windows of `length` tokens (and the one after) spread evenly over `text`.
Expected<std::vector<int64_t>> evaluationWindows(const Text &text, int64_t count, int64_t length);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_DATA_BATCHES_H
