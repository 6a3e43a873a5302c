//===- Optimizer.cpp - Base class of the optimizers -----------------------===//
//
// The layout of the state of each parameter.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/trainer/Optimizer.h"

namespace pe::train {

StateBlock::StateBlock(std::string name, const ParameterLayout &layout,
                       const std::vector<int64_t> &parameters, float least)
    : label(std::move(name)), minimum(least), offsets(layout.size()) {
  int64_t end = 0;
  for (int64_t index : parameters) {
    offsets[index] = end;
    end += layout[index].extent;
  }
  block = ParameterBlock(end);
}

} // namespace pe::train
