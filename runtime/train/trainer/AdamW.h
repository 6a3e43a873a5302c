//===- AdamW.h - The AdamW optimizer ----------------------------*- C++ -*-===//
//
// AdamW (Loshchilov and Hutter 2019) with gradient clipping by norm. State: the two moments "m" and
// "v". The work is divided into slices of single parameters, which depend only on their sizes.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_ADAMW_H
#define PE_RUNTIME_TRAIN_TRAINER_ADAMW_H

#include "runtime/train/kernels/Kernels.h"
#include "runtime/train/trainer/Optimizer.h"

#include <optional>

namespace pe::train {

struct AdamWConfig {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weightDecay = 0.1;
  /// Weight decay of the encoding's parameters. The default is weightDecay.
  std::optional<double> encodingDecay = {};
  /// Gradients are scaled so that their norm does not exceed this; 0 disables clipping.
  double clip = 1.0;
};

class AdamW : public Optimizer {
public:
  AdamW(const ParameterLayout &layout, std::vector<int64_t> parameters, const Kernels &kernels,
        const AdamWConfig &config);

  std::string_view name() const override { return "adamw"; }
  Status step(const UpdateInputs &inputs) override;

private:
  struct Slice {
    int64_t parameter, begin, count;
  };

  Kernels kernels;
  AdamWConfig config;
  std::vector<Slice> slices;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_ADAMW_H
