//===- Config.h - Everything a training run is told -------------*- C++ -*-===//
//
// The configuration that the flags of `pe train` (Options.h) set.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_CONFIG_H
#define PE_RUNTIME_TRAIN_SESSION_CONFIG_H

#include "runtime/train/model/InitialValues.h"
#include "runtime/train/trainer/Evaluate.h"
#include "runtime/train/trainer/Plasticity.h"
#include "runtime/train/trainer/Schedule.h"
#include "runtime/train/trainer/Trainer.h"

#include <optional>
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

/// A part of the run on one text; warm-up and decay of the learning rate restart with it. What is
/// not given is as in the flags.
struct PhaseConfig {
  /// A directory, a file of tokens or a task (data/Corpus.h); empty: the machine's default text.
  std::string data;
  int64_t steps = 600;
  std::optional<int64_t> sequence = {}, warmup = {}, redoInterval = {};
  std::optional<double> learningRate = {}, muonRate = {};
  std::optional<Decay> decay = {};
  std::optional<Dash> dash = {};
  /// Whether weights are changed at its start, and which.
  std::optional<bool> reinit = {};
  std::optional<ReinitTarget> reinitTarget = {};
  /// TrainConfig::rotationFactor of this phase.
  std::optional<double> factor = {};
  /// All of these but data and steps, for comparison.
  std::string more = {};
};

struct TrainConfig {
  /// A .mlir file, or "none" for causal attention without positions.
  std::string encoding = "none";
  /// Values of attributes of the encoding's file, by name, in place of its own.
  std::vector<std::pair<std::string, std::string>> attributes;
  /// The factor of the rotation's scaling in the encoding's file, in place of its own.
  std::optional<double> rotationFactor;
  std::vector<PhaseConfig> phases = {{}};
  /// A checkpoint's folder or a model's file that the weights come from, and whether the optimizers
  /// go on with what they remember there; empty: initial values.
  std::string from;
  bool keepsOptimizer = false;
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
  /// The peak of the encoding's parameters; none: AdamW's.
  std::optional<double> encodingRate;
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
  /// Older weights that evaluations measure the distance from, as `from` names them; empty: none.
  std::string against;
  /// Steps in a row without a finite loss and gradient that end the run.
  int64_t maxSkips = 20;
  /// In place of training (Checks.h).
  enum class Check : uint8_t { None, Gradients, Overfit } check = Check::None;
  int64_t checkpointInterval = 200;
  /// Checkpoints that stay, the latest and those before it.
  int64_t keepCheckpoints = 1;
  bool resume = false;
  /// Whether an earlier run's checkpoint, log and trace may be replaced.
  bool overwrite = false;
  /// Several runs (tools/pe/Grid.h): "KEY=A,B;KEY=C,D", "0,1,2", how many at a time, and the folder
  /// for what they found.
  std::string sweep, seeds, out;
  int jobs = 1;
  /// Where there is no checkpoint, --resume=if-any starts afresh.
  bool resumeIfAny = false;

  /// Tokens of the texts and tasks and, if some are masked, the mask.
  int64_t tokenCount() const;
  /// What holds in a phase.
  int64_t sequenceOf(size_t phase) const { return phases[phase].sequence.value_or(sequence); }
  int64_t redoIntervalOf(size_t phase) const {
    return phases[phase].redoInterval.value_or(plasticity.redoInterval);
  }
  Dash dashOf(size_t phase) const { return phases[phase].dash.value_or(plasticity.dash); }
  /// Whether a rule holds in any phase.
  bool usesRedo() const;
  bool usesDash(Dash kind) const;
  /// The learning rates of a phase: their peaks, and those at a step.
  Rates peaksOf(size_t phase) const;
  Rates ratesAt(size_t phase, int64_t step) const;
  /// What is changed at the start of a phase; `lengthChanges`: from what came before, and then it
  /// is attention alone. Nothing where there is no reinit.
  std::optional<ReinitTarget> reinitAt(size_t phase, bool lengthChanges) const;
  int64_t totalSteps() const {
    int64_t sum = 0;
    for (const PhaseConfig &phase : phases)
      sum += phase.steps;
    return sum;
  }
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_SESSION_CONFIG_H
