//===- Batches.cpp - The batches of training and evaluation ---------------===//
//
// Random pieces for training, and evenly spaced windows for evaluation.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/data/Batches.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <string>

namespace pe::train {
namespace {

/// The share of tokens that the masked objective selects, and how many of these are masked or
/// replaced.
constexpr double kHidden = 0.15, kMasked = 0.8, kReplaced = 0.1;

} // namespace

Expected<Objective> parseObjective(std::string_view name) {
  if (name == "causal")
    return Objective::Causal;
  if (name == "masked")
    return Objective::Masked;
  return makeError("expected an objective of ", joinChoices({"causal", "masked"}), ", found '",
                   name, "'");
}

void Batch::resize(int64_t newSequences, int64_t newLength) {
  sequences = newSequences;
  length = newLength;
  inputs.resize(sequences * length);
  targets.resize(sequences * length);
  weights.assign(sequences * length, 1.0f);
  documents.assign(sequences * length, 0);
  prefixes.assign(sequences, 0);
}

void Batch::set(int64_t row, const Text &text, int64_t start) {
  // Position at the first document that begins after `start`.
  auto next = std::upper_bound(text.starts.begin(), text.starts.end(), start);
  int32_t document = 0;
  for (int64_t i = 0; i < length; ++i) {
    for (; next != text.starts.end() && *next <= start + i; ++next)
      ++document;
    inputs[row * length + i] = text[start + i];
    targets[row * length + i] = text[start + i + 1];
    documents[row * length + i] = document;
  }
}

void Batch::set(int64_t row, const Task &task, Random &random, int64_t first) {
  const Exercise exercise = task.generate(random, length, training);
  for (int64_t i = 0; i < length; ++i) {
    inputs[row * length + i] = exercise.tokens[i];
    targets[row * length + i] = exercise.tokens[i + 1];
    weights[row * length + i] = exercise.asked[i + 1] && i >= first ? 1.0f : 0.0f;
  }
}

Status checkTaskLength(const Task &task, int64_t length, const char *flag, int64_t least) {
  if (length >= least)
    return Status::success();
  return makeError("expected ", flag, " of at least ", least, " for ", task.spelling(), ", found ",
                   length);
}

void Batch::mask(int64_t row, int64_t first, const BatchRules &rules, Random &random) {
  int32_t *tokens = inputs.data() + row * length;
  std::copy_n(tokens, length, targets.data() + row * length);
  std::fill_n(weights.data() + row * length, length, 0.0f);
  auto hide = [&](int64_t i) {
    weights[row * length + i] = 1;
    const double what = random.uniform();
    if (what < kMasked)
      tokens[i] = rules.maskToken;
    else if (what < kMasked + kReplaced)
      tokens[i] = static_cast<int32_t>(random.below(rules.maskToken));
  };
  bool any = false;
  for (int64_t i = first; i < length; ++i)
    if (random.uniform() < kHidden) {
      hide(i);
      any = true;
    }
  // A sequence without any target would not contribute to the loss.
  if (!any)
    hide(first + static_cast<int64_t>(random.below(length - first)));
}

void Batch::setPrefix(int64_t row, int64_t count) {
  prefixes[row] = static_cast<int32_t>(count);
  // The target of position i is token i + 1, which is visible if it is inside the prefix.
  std::fill_n(weights.data() + row * length, std::max<int64_t>(count - 1, 0), 0.0f);
}

double Batch::totalWeight() const {
  double sum = 0;
  for (float weight : weights)
    sum += weight;
  return sum;
}

Expected<BatchSampler> BatchSampler::create(const Text &text, int64_t sequences, int64_t length,
                                            uint64_t seed, const BatchRules &rules) {
  if (text.task) {
    if (rules.objective != Objective::Causal)
      return makeError("expected --objective=causal with ", text.task->spelling(),
                       ", found masked");
    if (Status status = checkTaskLength(*text.task, length, "--seq", text.task->shortestToTrain());
        !status)
      return status.takeError();
  } else if (text.size() < length + 1)
    return makeError("expected at least ", length + 1,
                     " characters to train on (--seq + 1), found ", text.size(),
                     "; give more text with --data or a smaller --seq");
  BatchSampler sampler;
  sampler.text = &text;
  sampler.sequences = sequences;
  sampler.length = length;
  sampler.seed = seed;
  sampler.rules = rules;
  return sampler;
}

void BatchSampler::fill(int64_t step, Batch &batch) const {
  batch.resize(sequences, length);
  const std::string name = std::to_string(step);
  Random random(seed, "batch." + name), choice(seed, "choice." + name);
  batch.seed = Random(seed, "seed." + name).next64();
  batch.training = true;
  for (int64_t row = 0; row < sequences; ++row) {
    if (text->task) {
      batch.set(row, *text->task, random, 0);
      continue;
    }
    batch.set(row, *text, static_cast<int64_t>(random.below(text->size() - length)));
    if (rules.objective == Objective::Masked)
      batch.mask(row, 0, rules, choice);
    else if (rules.prefixes)
      batch.setPrefix(row, static_cast<int64_t>(choice.below(length / 2 + 1)));
  }
}

Expected<std::vector<int64_t>> evaluationWindows(const Text &text, int64_t count, int64_t length) {
  int64_t last = text.size() - length - 1;
  if (last < 0)
    return makeError("expected at least ", length + 1,
                     " held-out characters (the longest of "
                     "--eval-lengths, plus 1), found ",
                     text.size(), "; give more text with --data or smaller --eval-lengths");
  std::vector<int64_t> starts(count);
  for (int64_t i = 0; i < count; ++i)
    starts[i] = count == 1 ? 0 : last * i / (count - 1);
  return starts;
}

} // namespace pe::train
