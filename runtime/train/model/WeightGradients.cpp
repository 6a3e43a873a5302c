//===- WeightGradients.cpp - dW = dy^T x over the whole batch -------------===//
//
// The list of tiles, and the product of one.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/model/WeightGradients.h"

namespace pe::train {
namespace {

/// Small matrices get small tiles, so that there are enough for all threads; products of large
/// tiles run nearer to the machine's peak.
int64_t tileEdge(int64_t size) { return size >= 512 ? 128 : 64; }

} // namespace

WeightTiles::WeightTiles(std::vector<WeightProduct> list) : products(std::move(list)) {
  for (size_t product = 0; product < products.size(); ++product) {
    const Linear &linear = products[product].linear;
    for (int64_t output = 0; output < linear.outputs; output += tileEdge(linear.outputs))
      for (int64_t input = 0; input < linear.inputs; input += tileEdge(linear.inputs))
        tiles.push_back({product, output, input});
  }
}

void WeightTiles::run(int64_t tile, int64_t tokens, GradientUse use, float *gradients) const {
  const auto &[index, output, input] = tiles[tile];
  const auto &[linear, x, dy] = products[index];
  linear.backwardWeights(gradients, x, dy, tokens,
                         {.output = output,
                          .outputs = std::min(tileEdge(linear.outputs), linear.outputs - output),
                          .input = input,
                          .inputs = std::min(tileEdge(linear.inputs), linear.inputs - input)},
                         use == GradientUse::Add);
}

} // namespace pe::train
