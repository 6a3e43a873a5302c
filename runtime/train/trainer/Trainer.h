//===- Trainer.h - One step after the other ---------------------*- C++ -*-===//
//
// A model, its optimizer and the count of steps. A step whose loss or gradient is not finite
// changes only a counter: one bad batch must not ruin a run.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_TRAINER_H
#define PE_RUNTIME_TRAIN_TRAINER_TRAINER_H

#include "runtime/train/model/Decoder.h"
#include "runtime/train/reinit/Reinit.h"
#include "runtime/train/trainer/AdamW.h"

namespace pe::train {

/// Which weights a reinit replaces, by their role in the model.
using ReinitTarget = reinit::Target;

/// What a reinit does to them.
struct ReinitChange {
  ReinitTarget target = ReinitTarget::All;
  reinit::Method method = reinit::Method::Project;
  /// Of the projection; its seed is that of noise and of fresh values.
  reinit::Settings settings = {};
  /// Of ShrinkPerturb: the share of the old weights.
  double shrink = 0.4;
};

struct StepReport {
  /// Counted from 0.
  int64_t step = 0;
  /// Mean over the batch, in nats.
  double loss = 0;
  /// Norm of all gradients, before clipping.
  double gradientNorm = 0;
  double learningRate = 0;
  /// True if the loss or the norm was not finite; then nothing was changed.
  bool skipped = false;
};

class Trainer {
public:
  Trainer(std::unique_ptr<Decoder> model, const Kernels &kernels, const AdamWConfig &config,
          ParallelFor &parallel);

  Decoder &model() { return *decoder; }
  AdamW &optimizer() { return adam; }
  ParallelFor &parallel() const { return pool; }

  Expected<StepReport> step(const Batch &batch, double learningRate);
  int64_t steps() const { return done; }
  int64_t skipped() const { return skips; }
  /// Norm of all weights.
  double weightNorm() const { return adam.norm(decoder->values(), pool); }

  /// Changes the target's weight matrices and resets the optimizer state of exactly those. Weights
  /// that are not finite are an error, and then nothing is changed.
  Expected<std::vector<reinit::MatrixReport>> reinitialise(const ReinitChange &change);

  /// For resuming.
  void restore(int64_t steps, int64_t skipped);

private:
  std::unique_ptr<Decoder> decoder;
  AdamW adam;
  ParallelFor &pool;
  int64_t done = 0, skips = 0, skipsInARow = 0;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_TRAINER_H
