//===- Optimizer.h - What the optimizers have in common ---------*- C++ -*-===//
//
// An optimizer updates the parameters that it is given and keeps named blocks of state: for each of
// these parameters one number per element, so that a parameter's state can be cleared alone.
// Trainer and checkpoints see nothing but this. Optimizers.h decides which optimizer gets which
// parameter.
//
// To add one: a class with `step`, a row in parseOptimizer, a branch in Optimizers.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_OPTIMIZER_H
#define PE_RUNTIME_TRAIN_TRAINER_OPTIMIZER_H

#include "pe/Error.h"
#include "pe/Parallel.h"
#include "runtime/train/model/Parameters.h"

#include <limits>

namespace pe::train {

/// One number per element of some parameters, zero at first.
class StateBlock {
public:
  /// `least`: no number is ever below it.
  StateBlock(std::string name, const ParameterLayout &layout,
             const std::vector<int64_t> &parameters,
             float least = std::numeric_limits<float>::lowest());

  const std::string &name() const { return label; }
  float least() const { return minimum; }
  /// Padded with zeros as in the layout.
  float *at(int64_t parameter) { return block.data() + offsets[parameter]; }

private:
  std::string label;
  float minimum;
  /// By the parameter's index in the layout.
  std::vector<int64_t> offsets;
  ParameterBlock block;
};

/// What an update needs to know.
struct UpdateInputs {
  ParameterBlock &values;
  const ParameterBlock &gradients;
  /// Norm of the gradients of this optimizer's parameters.
  double gradientNorm = 0;
  double learningRate = 0;
  /// Of the encoding's parameters.
  double encodingRate = 0;
  /// Updates of each parameter since its state was cleared, this one included.
  const std::vector<int64_t> &updates;
  ParallelFor &parallel;
};

class Optimizer {
public:
  virtual ~Optimizer() = default;
  virtual std::string_view name() const = 0;
  virtual Status step(const UpdateInputs &inputs) = 0;

  /// Indices in the layout of the parameters that it updates.
  const std::vector<int64_t> &parameters() const { return chosen; }
  std::vector<StateBlock> &state() { return blocks; }

protected:
  Optimizer(const ParameterLayout &layout, std::vector<int64_t> parameters)
      : layout(layout), chosen(std::move(parameters)) {}
  void addState(std::string name, float least = std::numeric_limits<float>::lowest()) {
    blocks.emplace_back(std::move(name), layout, chosen, least);
  }

  const ParameterLayout &layout;

private:
  std::vector<int64_t> chosen;
  std::vector<StateBlock> blocks;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_TRAINER_OPTIMIZER_H
