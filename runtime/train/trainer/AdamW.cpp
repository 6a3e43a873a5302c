//===- AdamW.cpp - The optimizer ------------------------------------------===//
//
// Slices, norm, update, selective reset.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/trainer/AdamW.h"

#include <algorithm>
#include <cmath>

namespace pe::train {
namespace {

constexpr int64_t kSlice = 8192;

} // namespace

AdamW::AdamW(const ParameterLayout &layout, const Kernels &kernels, const AdamWConfig &config)
    : layout(layout), kernels(kernels), config(config), first(layout.extent()),
      second(layout.extent()), updates(layout.size()) {
  for (int64_t index = 0; index < layout.size(); ++index)
    for (int64_t begin = 0; begin < layout[index].extent; begin += kSlice)
      slices.push_back(
          {index, layout[index].offset + begin, std::min(kSlice, layout[index].extent - begin)});
}

double AdamW::norm(const ParameterBlock &block, ParallelFor &parallel) const {
  std::vector<double> sums(slices.size());
  parallelFor(parallel, static_cast<int64_t>(slices.size()), [&](int64_t item) {
    kernels.sumSquares(block.data() + slices[item].offset, &sums[item], slices[item].count);
  });
  double total = 0;
  for (double sum : sums)
    total += sum;
  return std::sqrt(total);
}

void AdamW::step(ParameterBlock &values, const ParameterBlock &gradients, double gradientNorm,
                 double lr, ParallelFor &parallel) {
  double clip = config.clip > 0 && gradientNorm > config.clip ? config.clip / gradientNorm : 1.0;
  for (int64_t &count : updates)
    ++count;
  parallelFor(parallel, static_cast<int64_t>(slices.size()), [&](int64_t item) {
    const Slice &slice = slices[item];
    const Parameter &parameter = layout[slice.parameter];
    double count = static_cast<double>(updates[slice.parameter]);
    double keep = parameter.decay ? 1 - lr * config.weightDecay : 1;
    kernels.adamw(values.data() + slice.offset, gradients.data() + slice.offset,
                  first.data() + slice.offset, second.data() + slice.offset, slice.count,
                  static_cast<float>(clip), static_cast<float>(lr),
                  static_cast<float>(config.beta1), static_cast<float>(config.beta2),
                  static_cast<float>(config.epsilon),
                  static_cast<float>(1 / (1 - std::pow(config.beta1, count))),
                  static_cast<float>(1 / (1 - std::pow(config.beta2, count))),
                  static_cast<float>(keep), parameter.minimum);
  });
}

void AdamW::reset(int64_t parameter) {
  std::fill_n(first.at(layout[parameter]), layout[parameter].extent, 0.0f);
  std::fill_n(second.at(layout[parameter]), layout[parameter].extent, 0.0f);
  updates[parameter] = 0;
}

} // namespace pe::train
