//===- WeightGradients.h - dW = dy^T x over the entire batch ----*- C++ -*-===//
//
// The gradient of every weight matrix is divided into output tiles. A tile is one matrix product
// over all tokens of the batch, in order, so any number of threads can work without separate
// gradient buffers. The tiles depend only on the size of the matrix, so results do not depend on
// the threads.
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
  /// Creates the tiles of all products, in order.
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
