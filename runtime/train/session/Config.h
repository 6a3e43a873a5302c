//===- Config.h - The configuration of a training run -----------*- C++ -*-===//
//
// The flags of `pe train` (Options.h) set this configuration.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_SESSION_CONFIG_H
#define PE_RUNTIME_TRAIN_SESSION_CONFIG_H

#include "runtime/train/model/InitialValues.h"
#include "runtime/train/trainer/EvaluateLengths.h"
#include "runtime/train/trainer/Plasticity.h"
#include "runtime/train/trainer/RateSchedule.h"
#include "runtime/train/trainer/Trainer.h"

#include <optional>
#include <string>
#include <vector>

namespace pe::train {

/// The time at which reinit changes the weights (reinit/Reinit.h).
enum class ReinitTime : uint8_t { Phase, Step, Plateau };

struct ReinitConfig {
  bool enabled = false;
  /// The change to apply. The seed is that of the run.
  ReinitChange change;
  /// At the start of every phase except the first, before `step`, or when the held-out loss stops
  /// falling (Plateau.h).
  ReinitTime when = ReinitTime::Phase;
  int64_t step = 0;
  /// The steps between the evaluations that detect a plateau, and the number of evaluations in the
  /// window.
  int64_t plateauInterval = 20, plateauWindow = 8;
};

/// ReDo and DASH (trainer/Plasticity.h).
struct PlasticityConfig {
  /// Steps between searches for dormant neurons; 0 disables ReDo.
  int64_t redoInterval = 0;
  /// A neuron is dormant if its activity is at most this share of its layer's mean.
  double redoTau = 0.025;
  Dash dash = Dash::Off;
  DashScope dashScope = DashScope::All;
  /// The interval of RowDecay.
  int64_t dashInterval = 0;
};

/// A part of the run on one text. Warm-up and decay of the learning rate restart with each phase. A
/// value that is not set is taken from the flags.
struct PhaseConfig {
  /// A directory, a token file or a task (data/Corpus.h); empty for the default text of the
  /// machine.
  std::string data;
  int64_t steps = 600;
  std::optional<int64_t> sequence = {}, warmup = {}, redoInterval = {};
  std::optional<double> learningRate = {}, muonRate = {};
  std::optional<Decay> decay = {};
  std::optional<Dash> dash = {};
  /// Overrides whether and which weights are changed at the start of the phase.
  std::optional<bool> reinit = {};
  std::optional<ReinitTarget> reinitTarget = {};
  /// The value of TrainConfig::rotationFactor in this phase.
  std::optional<double> factor = {};
  /// The text of all options except data and steps, which is used for comparison.
  std::string more = {};
};

struct TrainConfig {
  /// A .mlir file, or "none" for causal attention without positions.
  std::string encoding = "none";
  /// Attribute values by name, which replace those of the encoding file.
  std::vector<std::pair<std::string, std::string>> attributes;
  /// Replaces the factor of the rotation's scaling in the encoding file.
  std::optional<double> rotationFactor;
  std::vector<PhaseConfig> phases = {{}};
  /// The checkpoint directory or model file to load the weights from, and whether the optimizers
  /// continue with the state stored there. If empty, the weights are initialized.
  std::string from;
  bool keepsOptimizer = false;
  Objective objective = Objective::Causal;
  Vocabulary vocabulary;
  DecoderConfig model;
  /// One of activationNames(), or a file that defines @activation.
  std::string activation = "relu2";
  /// Values that replace the pe.init of the encoding's parameters, by name.
  InitialTexts initialValues;
  /// A POSIX extended regular expression that selects the frozen parameters; empty for none.
  std::string freeze;
  int64_t sequence = 256;
  int64_t batch = 16;
  /// The peak learning rate of AdamW. Muon has its own.
  double learningRate = 3e-3;
  /// The peak learning rate of the encoding's parameters. The default is AdamW's.
  std::optional<double> encodingRate;
  Decay decay = Decay::Linear;
  int64_t warmup = 40;
  /// The final learning rate as a fraction of the peak.
  double finalRate = 0.1;
  OptimizerConfig optimizer;
  /// Batches per step.
  int64_t accumulate = 1;
  uint64_t seed = 0;
  /// The number of threads; 0 for all cores.
  int threads = 0;
  ReinitConfig reinit;
  PlasticityConfig plasticity;
  Evaluation evaluation;
  /// Steps between evaluations; 0 evaluates only after the last step.
  int64_t evaluationInterval = 0;
  /// File paths; empty for none.
  std::string checkpoint, log, trace;
  /// Older weights, named as in `from`, to which evaluations measure the distance; empty for none.
  std::string against;
  /// The run ends after this many consecutive steps without a finite loss and gradient.
  int64_t maxSkips = 20;
  /// A check that runs instead of training (Checks.h).
  enum class Check : uint8_t { None, Gradients, Overfit } check = Check::None;
  int64_t checkpointInterval = 200;
  /// The number of checkpoints to keep: the latest ones.
  int64_t keepCheckpoints = 1;
  bool resume = false;
  /// Allows replacing the checkpoint, log and trace of an earlier run.
  bool overwrite = false;
  /// Options of several runs (tools/pe/Grid.h): "KEY=A,B;KEY=C,D", "0,1,2", the number of
  /// concurrent runs (`jobs`), and the directory for results.
  std::string sweep, seeds, out;
  int jobs = 1;
  /// --resume=if-any: starts a new run if there is no checkpoint.
  bool resumeIfAny = false;

  /// Returns the number of tokens of the texts and tasks, plus the mask token if some are masked.
  int64_t tokenCount() const;
  /// The settings of a phase.
  int64_t sequenceOf(size_t phase) const { return phases[phase].sequence.value_or(sequence); }
  int64_t redoIntervalOf(size_t phase) const {
    return phases[phase].redoInterval.value_or(plasticity.redoInterval);
  }
  Dash dashOf(size_t phase) const { return phases[phase].dash.value_or(plasticity.dash); }
  /// Return true if the rule is used in any phase.
  bool usesRedo() const;
  bool usesDash(Dash kind) const;
  /// Return the learning rates of a phase: the peaks, and the rates at a step.
  Rates peaksOf(size_t phase) const;
  Rates ratesAt(size_t phase, int64_t step) const;
  /// Returns the weights that reinit changes at the start of a phase, or nothing if it does not. If
  /// `lengthChanges`, that is, the sequence length differs from the previous phase, the default is
  /// attention only.
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
