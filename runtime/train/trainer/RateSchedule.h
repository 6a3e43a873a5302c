//===- RateSchedule.h - Learning rate schedules -----------------*- C++ -*-===//
//
// A linear warm-up, followed by: Constant; Linear, which stays at the peak for the first half of
// the steps and falls to the final fraction over the second half; Cosine, which falls to it over
// all steps; or Wsd ("warm-up, stable, decay"), which stays at the peak for four fifths of the
// steps and falls by 1 - sqrt(progress) over the last fifth.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_RATESCHEDULE_H
#define PE_RUNTIME_TRAIN_TRAINER_RATESCHEDULE_H

#include "pe/Error.h"

#include <cstdint>
#include <string_view>

namespace pe::train {

enum class Decay : uint8_t { Linear, Cosine, Constant, Wsd };
Expected<Decay> parseDecay(std::string_view name);

struct Schedule {
  Decay decay = Decay::Linear;
  double peak = 3e-3;
  int64_t warmup = 40;
  int64_t steps = 600;
  /// The final learning rate as a fraction of the peak.
  double finalFraction = 0.1;

  /// Returns the learning rate of step `step`, counted from 0.
  double at(int64_t step) const;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_RATESCHEDULE_H
