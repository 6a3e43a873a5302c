//===- AdamW.cpp - The AdamW optimizer ------------------------------------===//
//
// Divides the parameters into slices, and updates them.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/trainer/AdamW.h"

#include <algorithm>
#include <cmath>

namespace pe::train {
namespace {

constexpr int64_t kSlice = 8192;

} // namespace

AdamW::AdamW(const ParameterLayout &layout, std::vector<int64_t> parameters, const Kernels &kernels,
             const AdamWConfig &config)
    : Optimizer(layout, std::move(parameters)), kernels(kernels), config(config) {
  addState("m");
  addState("v", 0);
  for (int64_t index : this->parameters())
    for (int64_t begin = 0; begin < layout[index].extent; begin += kSlice)
      slices.push_back({index, begin, std::min(kSlice, layout[index].extent - begin)});
}

Status AdamW::step(const UpdateInputs &inputs) {
  const double norm = inputs.gradientNorm;
  const double clip = config.clip > 0 && norm > config.clip ? config.clip / norm : 1.0;
  parallelFor(inputs.parallel, static_cast<int64_t>(slices.size()), [&](int64_t item) {
    const Slice &slice = slices[item];
    const Parameter &parameter = layout[slice.parameter];
    const bool isEncoding = parameter.role == Role::Encoding;
    const double lr = isEncoding ? inputs.encodingRate : inputs.learningRate;
    const double decay =
        isEncoding ? config.encodingDecay.value_or(config.weightDecay) : config.weightDecay;
    double count = static_cast<double>(inputs.updates[slice.parameter]);
    double keep = parameter.decay ? 1 - lr * decay : 1;
    kernels.adamw(
        inputs.values.at(parameter) + slice.begin, inputs.gradients.at(parameter) + slice.begin,
        state()[0].at(slice.parameter) + slice.begin, state()[1].at(slice.parameter) + slice.begin,
        slice.count, static_cast<float>(clip), static_cast<float>(lr),
        static_cast<float>(config.beta1), static_cast<float>(config.beta2),
        static_cast<float>(config.epsilon),
        static_cast<float>(1 / (1 - std::pow(config.beta1, count))),
        static_cast<float>(1 / (1 - std::pow(config.beta2, count))), static_cast<float>(keep),
        parameter.minimum);
  });
  return Status::success();
}

} // namespace pe::train
