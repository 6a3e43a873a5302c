//===- Config.cpp - The configuration of a training run -------------------===//
#include "runtime/train/session/Config.h"

#include <algorithm>

namespace pe::train {

int64_t TrainConfig::tokenCount() const {
  int64_t count = 0;
  for (const PhaseConfig &phase : phases) {
    if (!Task::isName(phase.data)) {
      count = std::max(count, vocabulary.size());
      continue;
    }
    if (auto task = Task::parse(phase.data))
      count = std::max(count, task->vocabulary());
  }
  return count + (objective == Objective::Masked ? 1 : 0);
}

bool TrainConfig::usesRedo() const {
  for (size_t phase = 0; phase < phases.size(); ++phase)
    if (redoIntervalOf(phase) > 0)
      return true;
  return false;
}

bool TrainConfig::usesDash(Dash kind) const {
  for (size_t phase = 0; phase < phases.size(); ++phase)
    if (dashOf(phase) == kind)
      return true;
  return false;
}

Rates TrainConfig::peaksOf(size_t phase) const {
  const PhaseConfig &own = phases[phase];
  Rates peaks = {own.learningRate.value_or(learningRate)};
  if (optimizer.kind == OptimizerKind::Muon)
    peaks.each.push_back(own.muonRate.value_or(optimizer.muon.learningRate));
  peaks.encoding = encodingRate;
  return peaks;
}

Rates TrainConfig::ratesAt(size_t phase, int64_t step) const {
  const PhaseConfig &own = phases[phase];
  const auto scheduled = [&](double peak) {
    return Schedule{own.decay.value_or(decay), peak, own.warmup.value_or(warmup), own.steps,
                    finalRate}
        .at(step);
  };
  Rates rates = peaksOf(phase);
  for (double &rate : rates.each)
    rate = scheduled(rate);
  if (rates.encoding)
    rates.encoding = scheduled(*rates.encoding);
  return rates;
}

std::optional<ReinitTarget> TrainConfig::reinitAt(size_t phase, bool lengthChanges) const {
  const PhaseConfig &own = phases[phase];
  if (!reinit.enabled || reinit.when != ReinitTime::Phase || !own.reinit.value_or(true))
    return std::nullopt;
  const bool attentionOnly = lengthChanges && reinit.change.target == ReinitTarget::All;
  return own.reinitTarget.value_or(attentionOnly ? ReinitTarget::Attention : reinit.change.target);
}

} // namespace pe::train
