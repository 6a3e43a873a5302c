//===- Optimizer.h - Base class of the optimizers ---------------*- C++ -*-===//
//
// An optimizer updates the parameters assigned to it and has named state blocks with one value per
// element of these parameters, so that the state of a single parameter can be cleared. The trainer
// and checkpoints use only this interface. Optimizers.h assigns parameters to optimizers.
//
// To add an optimizer: a class with `step`, a row in parseOptimizer, and a branch in
// Optimizers.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_TRAINER_OPTIMIZER_H
#define PE_RUNTIME_TRAIN_TRAINER_OPTIMIZER_H

#include "pe/Error.h"
#include "pe/Parallel.h"
#include "runtime/train/model/Parameters.h"

#include <limits>

namespace pe::train {

/// One value per element of some parameters, initially zero.
class StateBlock {
public:
  /// `least` is a lower bound of all values.
  StateBlock(std::string name, const ParameterLayout &layout,
             const std::vector<int64_t> &parameters,
             float least = std::numeric_limits<float>::lowest());

  const std::string &name() const { return label; }
  float least() const { return minimum; }
  /// Returns the state of a parameter, padded with zeros as in the layout.
  float *at(int64_t parameter) { return block.data() + offsets[parameter]; }

private:
  std::string label;
  float minimum;
  /// Offsets by the parameter's index in the layout.
  std::vector<int64_t> offsets;
  ParameterBlock block;
};

/// The inputs of an update.
struct UpdateInputs {
  ParameterBlock &values;
  const ParameterBlock &gradients;
  /// The norm of the gradients of this optimizer's parameters.
  double gradientNorm = 0;
  double learningRate = 0;
  /// The learning rate of the encoding's parameters.
  double encodingRate = 0;
  /// The number of updates of each parameter since its state was cleared, including this one.
  const std::vector<int64_t> &updates;
  ParallelFor &parallel;
};

class Optimizer {
public:
  virtual ~Optimizer() = default;
  virtual std::string_view name() const = 0;
  virtual Status step(const UpdateInputs &inputs) = 0;

  /// Returns the layout indices of the parameters that it updates.
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
