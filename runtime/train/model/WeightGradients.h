//===- WeightGradients.h - dW = dy^T x over the whole batch -----*- C++ -*-===//
//
// The gradient of every weight matrix is cut into output tiles. One tile is one matrix product over
// all tokens of the batch, in their order, so that no thread needs a block of gradients of its own
// and any number of threads can work. Tiles follow from the matrix's size alone: results do not
// depend on the threads.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_WEIGHTGRADIENTS_H
#define PE_RUNTIME_TRAIN_MODEL_WEIGHTGRADIENTS_H

#include "runtime/train/model/Linear.h"
#include "runtime/train/model/Parameters.h"
#include "runtime/train/model/Work.h"

#include <vector>

namespace pe::train {

/// The operands of one matrix's gradient: x[tokens, inputs] and dy[tokens, outputs].
struct WeightProduct {
  Linear linear;
  const float *x = nullptr;
  const float *dy = nullptr;
};

class WeightTiles {
public:
  /// The tiles of all products, in their order.
  explicit WeightTiles(std::vector<WeightProduct> products);

  int64_t size() const { return static_cast<int64_t>(tiles.size()); }
  /// Computes one tile on the calling thread.
  void run(int64_t tile, int64_t tokens, GradientUse use, float *gradients) const;

private:
  struct Tile {
    size_t product;
    int64_t edge, output, input;
  };

  std::vector<WeightProduct> products;
  std::vector<Tile> tiles;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_WEIGHTGRADIENTS_H
