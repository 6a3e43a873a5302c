//===- AdamW.h - The optimizer ----------------------------------*- C++ -*-===//
//
// AdamW with global-norm clipping. State (two moments and a count of updates) is kept per
// parameter, so that exactly those whose weights were replaced can be reset. The work is divided
// into slices of single parameters, determined by their sizes alone.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_ADAMW_H
#define PE_RUNTIME_TRAIN_TRAINER_ADAMW_H

#include "runtime/train/kernels/Kernels.h"
#include "runtime/train/model/Parameters.h"
#include "runtime/train/model/Work.h"

namespace pe::train {

struct AdamWConfig {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weightDecay = 0.1;
  /// Gradients are scaled so that their global norm does not exceed this; 0: never.
  double clip = 1.0;
};

class AdamW {
public:
  AdamW(const ParameterLayout &layout, const Kernels &kernels, const AdamWConfig &config);

  /// The Euclidean norm of all elements, computed in double.
  double norm(const ParameterBlock &block, ParallelFor &parallel) const;

  /// One update at learning rate `lr`, given the norm of all gradients.
  void step(ParameterBlock &values, const ParameterBlock &gradients, double gradientNorm, double lr,
            ParallelFor &parallel);

  /// Resets the moments and the count of one parameter; every other one keeps its state.
  void reset(int64_t parameter);

  // The state, for checkpoints.
  ParameterBlock &firstMoments() { return first; }
  ParameterBlock &secondMoments() { return second; }
  std::vector<int64_t> &updateCounts() { return updates; }

private:
  struct Slice {
    int64_t parameter, offset, count;
  };

  const ParameterLayout &layout;
  Kernels kernels;
  AdamWConfig config;
  std::vector<Slice> slices;
  ParameterBlock first, second;
  std::vector<int64_t> updates;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_ADAMW_H
