//===- RateSchedule.cpp - Learning rate schedules -------------------------===//
//
// The four curves described in the header.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/trainer/RateSchedule.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pe::train {

/// The share of the steps before Wsd's decay.
static constexpr double kStable = 0.8;

Expected<Decay> parseDecay(std::string_view name) {
  if (name == "linear")
    return Decay::Linear;
  if (name == "cosine")
    return Decay::Cosine;
  if (name == "constant")
    return Decay::Constant;
  if (name == "wsd")
    return Decay::Wsd;
  return makeError("expected a schedule of ", joinChoices({"linear", "cosine", "constant", "wsd"}),
                   ", found '", name, "'");
}

double Schedule::at(int64_t step) const {
  double done = static_cast<double>(step + 1);
  if (step < warmup)
    return peak * done / static_cast<double>(warmup);
  double progress = done / static_cast<double>(steps);
  double fraction = 1;
  switch (decay) {
  case Decay::Constant:
    break;
  case Decay::Linear:
    fraction = 1 - (1 - finalFraction) * std::clamp(2 * progress - 1, 0.0, 1.0);
    break;
  case Decay::Cosine:
    fraction = finalFraction + (1 - finalFraction) * 0.5 *
                                   (1 + std::cos(std::numbers::pi * std::min(progress, 1.0)));
    break;
  case Decay::Wsd:
    fraction = 1 - (1 - finalFraction) *
                       std::sqrt(std::clamp((progress - kStable) / (1 - kStable), 0.0, 1.0));
    break;
  }
  return peak * fraction;
}

} // namespace pe::train
