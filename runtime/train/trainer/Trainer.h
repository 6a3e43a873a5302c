//===- Trainer.h - One step after the other ---------------------*- C++ -*-===//
//
// A model, its optimizers and the count of steps. A step whose loss or gradient is not finite
// changes only a counter: one bad batch must not ruin a run.
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

/// Which weights a reinit replaces, by their role in the model.
using ReinitTarget = reinit::Target;
bool isTarget(const Parameter &parameter, ReinitTarget target);

/// What a reinit does to weights.
struct ReinitChange {
  ReinitTarget target = ReinitTarget::All;
  reinit::Method method = reinit::Method::Project;
  /// Of the projection; its seed is that of noise and of fresh values.
  reinit::Settings settings = {};
  /// Of ShrinkPerturb: the share of the old weights.
  double shrink = 0.4;
};

class Trainer {
public:
  Trainer(std::unique_ptr<Decoder> model, const Kernels &kernels, const OptimizerConfig &config,
          ParallelFor &parallel);

  Decoder &model() { return *decoder; }
  Optimizers &optimizers() { return updaters; }
  ParallelFor &parallel() const { return pool; }

  /// One update from the mean gradient of the batches, which are of one shape.
  Expected<StepReport> step(std::span<const Batch> batches, const Rates &rates);
  /// The mean gradient alone, in the model's gradients.
  Status computeGradients(std::span<const Batch> batches);
  int64_t steps() const { return done; }
  int64_t skipped() const { return skips; }
  /// The running mean of the losses of steps that were not skipped, in nats: about the last 20.
  /// It is part of the state, so that a resumed run shows the uninterrupted one's.
  double meanLoss() const { return mean[1] > 0 ? mean[0] / mean[1] : 0; }
  /// Steps of a run before, whose optimizers' state this one goes on with.
  void setStepsBefore(int64_t steps) { before = steps; }
  /// So many steps in a row without a finite loss and gradient end the run: nothing changes any
  /// more.
  void setMaxSkips(int64_t count) { maxSkips = count; }
  /// Measures the parts of a step, where there is a watch.
  void setWatch(Stopwatch *stopwatch) { decoder->setWatch(stopwatch); }
  Stopwatch *watch() const { return decoder->watch(); }
  /// Norm of all weights.
  double weightNorm() const { return updaters.norms(decoder->values(), pool).total; }

  /// Changes the target's weight matrices and resets the optimizer state of exactly those. Weights
  /// that are not finite are an error, and then nothing is changed.
  Expected<std::vector<reinit::MatrixReport>> reinitialise(const ReinitChange &change);

  /// Everything but the weights that a run needs to go on.
  std::vector<StatePart> state();

private:
  /// The step's loss and its gradients; those of frozen parameters are 0.
  Expected<double> accumulate(std::span<const Batch> batches);

  std::unique_ptr<Decoder> decoder;
  Optimizers updaters;
  ParallelFor &pool;
  int64_t done = 0, before = 0, skips = 0, skipsInARow = 0, maxSkips = 20;
  /// The exponentially weighted sum of losses, and that of their weights.
  std::vector<double> mean = {0, 0};
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_TRAINER_H
