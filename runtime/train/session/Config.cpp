//===- Config.cpp - Everything a training run is told ---------------------===//
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

} // namespace pe::train
