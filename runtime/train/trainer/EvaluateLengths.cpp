//===- EvaluateLengths.cpp - Bits per character at several lengths --------===//
//
// Windows are scored in groups, so that memory does not grow with their number.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/trainer/EvaluateLengths.h"

#include <algorithm>
#include <numbers>

namespace pe::train {
namespace {

/// The number of tokens in one forward call.
constexpr int64_t kTokensAtOnce = 8192;

/// The mean loss in nats, and the share of correct answers.
struct LengthScore {
  double loss, accuracy;
};

/// The text to score, and the windows with their scored part.
struct Windows {
  const Text &text;
  const BatchRules &rules;
  /// The starts of windows of `longest` tokens, of which the last `scored` are scored.
  std::vector<int64_t> starts;
  int64_t longest, scored;
};

/// Sets a row of the batch to the last `batch.length` tokens of a window. The masked tokens are the
/// same for every length.
void setRow(Batch &batch, int64_t row, const Windows &windows, int64_t start) {
  const int64_t unscored = batch.length - windows.scored;
  batch.set(row, windows.text, start + windows.longest - batch.length);
  if (windows.rules.objective == Objective::Masked) {
    Random random(/*seed=*/0, "evaluation." + std::to_string(start));
    batch.mask(row, unscored, windows.rules, random);
    return;
  }
  if (windows.rules.prefixes)
    batch.setPrefix(row, std::min(batch.length / 2, unscored));
  std::fill_n(batch.weights.begin() + row * batch.length, unscored, 0.0f);
}

/// Scores the questions in the second half of exercises of this length, which are the same in every
/// evaluation.
Expected<LengthScore> scoreTask(Decoder &model, const Task &task, int64_t exercises, int64_t length,
                                ParallelFor &parallel) {
  if (Status status = checkTaskLength(task, length, "--eval-lengths", task.shortest()); !status)
    return status.takeError();
  const int64_t atOnce = std::max<int64_t>(1, kTokensAtOnce / length);
  double sum = 0, weight = 0, right = 0;
  Batch batch;
  for (int64_t begin = 0; begin < exercises; begin += atOnce) {
    batch.resize(std::min(atOnce, exercises - begin), length);
    for (int64_t row = 0; row < batch.sequences; ++row) {
      Random random(/*seed=*/0, "exercise." + std::to_string(begin + row));
      batch.set(row, task, random, length / 2);
    }
    if (Status status = model.forward(batch, 0.0f, parallel); !status)
      return status.takeError();
    weight += batch.totalWeight();
    for (float loss : model.losses())
      sum += loss;
    for (uint8_t hit : model.hits())
      right += hit;
  }
  return LengthScore{sum / weight, right / weight};
}

Expected<std::map<int64_t, double>> evaluateTask(Decoder &model, const Task &task,
                                                 const Evaluation &evaluation,
                                                 ParallelFor &parallel,
                                                 std::map<int64_t, double> *accuracy) {
  std::map<int64_t, double> result;
  model.recordHits(true);
  for (int64_t length : evaluation.lengths) {
    auto score = scoreTask(model, task, evaluation.windows, length, parallel);
    if (!score)
      return score.takeError();
    result[length] = score->loss / std::numbers::ln2;
    if (accuracy)
      (*accuracy)[length] = score->accuracy;
  }
  model.recordHits(false);
  return result;
}

/// Returns the mean loss of the scored targets, in nats.
Expected<double> lossWithContext(Decoder &model, const Windows &windows, int64_t length,
                                 ParallelFor &parallel) {
  const std::vector<int64_t> &starts = windows.starts;
  int64_t atOnce = std::max<int64_t>(1, kTokensAtOnce / length);
  double sum = 0, weight = 0;
  Batch batch;
  for (size_t begin = 0; begin < starts.size(); begin += atOnce) {
    int64_t count = std::min<int64_t>(atOnce, static_cast<int64_t>(starts.size() - begin));
    batch.resize(count, length);
    for (int64_t row = 0; row < count; ++row)
      setRow(batch, row, windows, starts[begin + row]);
    if (Status status = model.forward(batch, 0.0f, parallel); !status)
      return status.takeError();
    weight += batch.totalWeight();
    for (float loss : model.losses())
      sum += loss;
  }
  return sum / weight;
}

} // namespace

Expected<std::map<int64_t, double>> evaluate(Decoder &model, const Text &heldOut,
                                             const BatchRules &rules, const Evaluation &evaluation,
                                             ParallelFor &parallel,
                                             std::map<int64_t, double> *accuracy) {
  std::map<int64_t, double> result;
  if (evaluation.lengths.empty())
    return result;
  auto [shortest, longest] =
      std::minmax_element(evaluation.lengths.begin(), evaluation.lengths.end());
  if (*shortest < 1)
    return makeError("expected --eval-lengths of at least 1, found ", *shortest);
  if (accuracy)
    accuracy->clear();
  if (heldOut.task)
    return evaluateTask(model, *heldOut.task, evaluation, parallel, accuracy);
  auto starts = evaluationWindows(heldOut, evaluation.windows, *longest);
  if (!starts)
    return starts.takeError();
  const Windows windows{heldOut, rules, *std::move(starts), *longest,
                        std::min(evaluation.scored, *shortest)};
  for (int64_t length : evaluation.lengths) {
    auto loss = lossWithContext(model, windows, length, parallel);
    if (!loss)
      return loss.takeError();
    result[length] = *loss / std::numbers::ln2;
  }
  return result;
}

} // namespace pe::train
