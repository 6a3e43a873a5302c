//===- Trainer.h - One training step ----------------------------*- C++ -*-===//
//
// A model, its optimizers and the step count. A step whose loss or gradient is not finite changes
// only a counter, so that one bad batch does not ruin a run.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_TRAINER_H
#define PE_RUNTIME_TRAIN_TRAINER_TRAINER_H

#include "pe/train.h"
#include "runtime/train/model/Decoder.h"
#include "runtime/train/reinit/Reinit.h"
#include "runtime/train/trainer/Optimizers.h"

#include <span>

namespace pe::train {

/// The weights that reinit changes, by their role in the model.
using ReinitTarget = reinit::Target;
bool isTarget(const Parameter &parameter, ReinitTarget target);

/// The change that reinit makes to weights.
struct ReinitChange {
  ReinitTarget target = ReinitTarget::All;
  reinit::Method method = reinit::Method::Project;
  /// The settings of the projection. The seed is also that of noise and of fresh values.
  reinit::Settings settings = {};
  /// ShrinkPerturb: the share of the old weights.
  double shrink = 0.4;
};

class Trainer {
public:
  Trainer(std::unique_ptr<Decoder> model, const Kernels &kernels, const OptimizerConfig &config,
          ParallelFor &parallel);

  Decoder &model() { return *decoder; }
  Optimizers &optimizers() { return updaters; }
  ParallelFor &parallel() const { return pool; }

  /// Performs one update with the mean gradient of the batches, which must have the same shape.
  Expected<StepReport> step(std::span<const Batch> batches, const Rates &rates);
  /// Computes only the mean gradient, into the model's gradients.
  Status computeGradients(std::span<const Batch> batches);
  int64_t steps() const { return done; }
  int64_t skipped() const { return skips; }
  /// Returns the running mean of the losses of about the last 20 steps that were not skipped, in
  /// nats. It is part of the state, so that a resumed run shows the same value as an uninterrupted
  /// one.
  double meanLoss() const { return mean[1] > 0 ? mean[0] / mean[1] : 0; }
  /// Sets the number of steps of an earlier run whose optimizer state this run continues.
  void setStepsBefore(int64_t steps) { before = steps; }
  /// Sets the number of consecutive steps without a finite loss and gradient after which the run
  /// ends with an error.
  void setMaxSkips(int64_t count) { maxSkips = count; }
  /// Sets the stopwatch that measures the parts of a step; null disables it.
  void setWatch(Stopwatch *stopwatch) { decoder->setWatch(stopwatch); }
  Stopwatch *watch() const { return decoder->watch(); }
  /// Returns the norm of all weights.
  double weightNorm() const { return updaters.norms(decoder->values(), pool).total; }

  /// Changes the weight matrices of the target and resets the optimizer state of exactly these.
  /// Weights that are not finite are an error, and then nothing is changed.
  Expected<std::vector<reinit::MatrixReport>> reinitialise(const ReinitChange &change);

  /// Returns everything except the weights that a run needs to resume.
  std::vector<StatePart> state();

private:
  /// Returns the loss of the step and computes its gradients, which are 0 for frozen parameters.
  Expected<double> accumulate(std::span<const Batch> batches);

  std::unique_ptr<Decoder> decoder;
  Optimizers updaters;
  ParallelFor &pool;
  int64_t done = 0, before = 0, skips = 0, skipsInARow = 0, maxSkips = 20;
  /// The exponentially weighted sum of losses, and the sum of the weights.
  std::vector<double> mean = {0, 0};
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_TRAINER_H
