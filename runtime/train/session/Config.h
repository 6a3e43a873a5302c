//===- Config.h - Everything a training run is told -------------*- C++ -*-===//
//
// The configuration that the flags of `pe train` (Options.h) and the demo set.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_CONFIG_H
#define PE_RUNTIME_TRAIN_SESSION_CONFIG_H

#include "runtime/train/model/Decoder.h"
#include "runtime/train/trainer/AdamW.h"
#include "runtime/train/trainer/Evaluate.h"
#include "runtime/train/trainer/Schedule.h"
#include "runtime/train/trainer/Trainer.h"

#include <optional>
#include <string>
#include <vector>

namespace pe::train {

/// When weights are projected (reinit/Reinit.h).
struct ReinitConfig {
  bool enabled = false;
  /// What is done; the seed is the run's.
  ReinitChange change;
  /// Before this step; none: at the start of every phase but the first.
  std::optional<int64_t> step;
};

/// A part of the run on one text; warm-up and decay of the learning rate restart with it.
struct PhaseConfig {
  /// A directory; empty: the machine's default text.
  std::string data;
  int64_t steps = 600;
};

struct TrainConfig {
  /// A .mlir file, or "none" for causal attention without positions.
  std::string encoding = "none";
  std::vector<PhaseConfig> phases = {{}};
  DecoderConfig model;
  int64_t sequence = 256;
  int64_t batch = 16;
  double learningRate = 3e-3;
  Decay decay = Decay::Linear;
  int64_t warmup = 40;
  AdamWConfig optimizer;
  uint64_t seed = 0;
  /// 0: all cores.
  int threads = 0;
  ReinitConfig reinit;
  Evaluation evaluation;
  /// Files; empty: none.
  std::string checkpoint, log;
  int64_t checkpointInterval = 200;
  bool resume = false;

  int64_t totalSteps() const {
    int64_t sum = 0;
    for (const PhaseConfig &phase : phases)
      sum += phase.steps;
    return sum;
  }
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_CONFIG_H
