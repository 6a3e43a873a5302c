//===- Evaluate.cpp - Bits per character at several lengths ---------------===//
//
// Windows are scored a few at a time, so that memory does not grow with their number.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/trainer/Evaluate.h"

#include <algorithm>
#include <numbers>

namespace pe::train {
namespace {

/// Tokens of one forward call.
constexpr int64_t kTokensAtOnce = 8192;

/// The summed loss of the scored characters, in nats.
Expected<double> lossWithContext(Decoder &model, std::span<const uint8_t> text,
                                 const std::vector<int64_t> &starts, int64_t longest,
                                 int64_t length, int64_t scored, ParallelFor &parallel) {
  int64_t atOnce = std::max<int64_t>(1, kTokensAtOnce / length);
  double sum = 0;
  Batch batch;
  for (size_t begin = 0; begin < starts.size(); begin += atOnce) {
    int64_t count = std::min<int64_t>(atOnce, static_cast<int64_t>(starts.size() - begin));
    batch.resize(count, length);
    for (int64_t row = 0; row < count; ++row)
      batch.set(row, text, starts[begin + row] + longest - length);
    if (Status status = model.forward(batch, 0.0f, parallel); !status)
      return status.takeError();
    for (int64_t row = 0; row < count; ++row)
      for (int64_t i = length - scored; i < length; ++i)
        sum += model.losses()[row * length + i];
  }
  return sum;
}

} // namespace

Expected<std::map<int64_t, double>> evaluate(Decoder &model, std::span<const uint8_t> heldOut,
                                             const Evaluation &evaluation, ParallelFor &parallel) {
  std::map<int64_t, double> result;
  if (evaluation.lengths.empty())
    return result;
  auto [shortest, longest] =
      std::minmax_element(evaluation.lengths.begin(), evaluation.lengths.end());
  if (*shortest < 1)
    return makeError("expected --eval-lengths of at least 1, found ", *shortest);
  int64_t scored = std::min(evaluation.scored, *shortest);
  auto starts = evaluationWindows(heldOut, evaluation.windows, *longest);
  if (!starts)
    return starts.takeError();
  double characters = static_cast<double>(evaluation.windows * scored);
  for (int64_t length : evaluation.lengths) {
    auto loss = lossWithContext(model, heldOut, *starts, *longest, length, scored, parallel);
    if (!loss)
      return loss.takeError();
    result[length] = *loss / characters / std::numbers::ln2;
  }
  return result;
}

} // namespace pe::train
