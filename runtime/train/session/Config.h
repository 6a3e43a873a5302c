//===- Config.h - Everything a training run is told -------------*- C++ -*-===//
//
// The configuration that the flags of `pe train` (Options.h) and the demo set.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_CONFIG_H
#define PE_RUNTIME_TRAIN_SESSION_CONFIG_H

#include "runtime/train/model/InitialValues.h"
#include "runtime/train/trainer/Evaluate.h"
#include "runtime/train/trainer/Plasticity.h"
#include "runtime/train/trainer/Schedule.h"
#include "runtime/train/trainer/Trainer.h"

#include <string>
#include <vector>

namespace pe::train {

/// When weights are projected (reinit/Reinit.h).
enum class ReinitTime : uint8_t { Phase, Step, Plateau };

struct ReinitConfig {
  bool enabled = false;
  /// What is done; the seed is the run's.
  ReinitChange change;
  /// At the start of every phase but the first, before `step`, or when the held-out loss no longer
  /// falls (Plateau.h).
  ReinitTime when = ReinitTime::Phase;
  int64_t step = 0;
  /// Steps between the evaluations that look for a plateau, and how many of them are looked at.
  int64_t plateauInterval = 20, plateauWindow = 8;
};

/// ReDo and DASH (trainer/Plasticity.h).
struct PlasticityConfig {
  /// Steps between searches for dormant neurons; 0: none.
  int64_t redoInterval = 0;
  /// A neuron is dormant whose activity is at most this share of its layer's mean.
  double redoTau = 0.025;
  Dash dash = Dash::Off;
  DashScope dashScope = DashScope::All;
  /// Of RowDecay.
  int64_t dashInterval = 0;
};

/// A part of the run on one text; warm-up and decay of the learning rate restart with it.
struct PhaseConfig {
  /// A directory, a file of tokens or a task (data/Corpus.h); empty: the machine's default text.
  std::string data;
  int64_t steps = 600;
};

struct TrainConfig {
  /// A .mlir file, or "none" for causal attention without positions.
  std::string encoding = "none";
  /// Values of attributes of the encoding's file, by name, in place of its own.
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<PhaseConfig> phases = {{}};
  Objective objective = Objective::Causal;
  Vocabulary vocabulary;
  DecoderConfig model;
  /// One of activationNames(), or a file that defines @activation.
  std::string activation = "relu2";
  /// What replaces the pe.init of the encoding's parameters, by name.
  InitialTexts initialValues;
  /// POSIX extended regular expression of the parameters that keep their initial values; empty:
  /// none.
  std::string freeze;
  int64_t sequence = 256;
  int64_t batch = 16;
  /// AdamW's peak; Muon has one of its own.
  double learningRate = 3e-3;
  Decay decay = Decay::Linear;
  int64_t warmup = 40;
  /// The final learning rate as a fraction of the peak.
  double finalRate = 0.1;
  OptimizerConfig optimizer;
  /// Batches of a step.
  int64_t accumulate = 1;
  uint64_t seed = 0;
  /// 0: all cores.
  int threads = 0;
  ReinitConfig reinit;
  PlasticityConfig plasticity;
  Evaluation evaluation;
  /// Steps between evaluations; 0: only after the last step.
  int64_t evaluationInterval = 0;
  /// Files; empty: none.
  std::string checkpoint, log, trace;
  /// Steps in a row without a finite loss and gradient that end the run.
  int64_t maxSkips = 20;
  /// In place of training (Checks.h).
  enum class Check : uint8_t { None, Gradients, Overfit } check = Check::None;
  int64_t checkpointInterval = 200;
  /// Checkpoints that stay, the latest and those before it.
  int64_t keepCheckpoints = 1;
  bool resume = false;
  /// Where there is no checkpoint, --resume=if-any starts afresh.
  bool resumeIfAny = false;

  /// Tokens of the texts and tasks and, if some are masked, the mask.
  int64_t tokenCount() const;
  int64_t totalSteps() const {
    int64_t sum = 0;
    for (const PhaseConfig &phase : phases)
      sum += phase.steps;
    return sum;
  }
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_CONFIG_H
