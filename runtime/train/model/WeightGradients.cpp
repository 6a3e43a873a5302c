//===- WeightGradients.cpp - dW = dy^T x over the entire batch ------------===//
//
// Creates the list of tiles, and computes the product of one.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/model/WeightGradients.h"

#include <algorithm>
#include <cmath>

namespace pe::train {
namespace {

/// Returns the edge length of a tile. A matrix has about four tiles, so that a model with a few
/// layers has enough for all threads. Large tiles run closer to the peak rate, because each tile
/// reads its columns of both operands over all tokens.
int64_t tileEdge(const Linear &linear) {
  constexpr int64_t kUnit = 128, kMost = 512;
  const double quarter = std::sqrt(static_cast<double>(linear.outputs * linear.inputs) / 4);
  const auto units = static_cast<int64_t>(std::ceil(quarter / static_cast<double>(kUnit)));
  return std::clamp(units * kUnit, kUnit, kMost);
}

} // namespace

WeightTiles::WeightTiles(std::vector<WeightProduct> list) : products(std::move(list)) {
  for (size_t product = 0; product < products.size(); ++product) {
    const Linear &linear = products[product].linear;
    const int64_t edge = tileEdge(linear);
    for (int64_t output = 0; output < linear.outputs; output += edge)
      for (int64_t input = 0; input < linear.inputs; input += edge)
        tiles.push_back({product, edge, output, input});
  }
}

void WeightTiles::run(int64_t tile, int64_t tokens, GradientUse use, float *gradients) const {
  const auto &[index, edge, output, input] = tiles[tile];
  const auto &[linear, x, dy] = products[index];
  linear.backwardWeights(gradients, x, dy, tokens,
                         {.output = output,
                          .outputs = std::min(edge, linear.outputs - output),
                          .input = input,
                          .inputs = std::min(edge, linear.inputs - input)},
                         use == GradientUse::Add);
}

} // namespace pe::train
