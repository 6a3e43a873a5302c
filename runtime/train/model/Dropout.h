//===- Dropout.h - Dropout --------------------------------------*- C++ -*-===//
//
// x[row, d] is multiplied by 1 / (1 - p) if word d mod 4 of Philox 4x32-10 at (d div 4, row,
// place), with the seed as its key, is at least p 2^32, and by 0 otherwise. The words depend only
// on the seed and the position of the element, so the backward pass, a resumed run and recomputed
// layers draw the same.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_DROPOUT_H
#define PE_RUNTIME_TRAIN_MODEL_DROPOUT_H

#include "runtime/core/Random.h"

#include <algorithm>

namespace pe::train {

class Dropout {
public:
  Dropout() = default;
  Dropout(double share, uint64_t seed, uint32_t place)
      : share(share), seed(seed), place(place), least(static_cast<uint32_t>(share * 4294967296.0)),
        factor(static_cast<float>(1 / (1 - share))) {}

  /// Returns the same dropout for another place in the model.
  Dropout at(uint32_t other) const { return {share, seed, other}; }
  bool isOn() const { return share > 0; }

  /// Applies dropout to values[rows, dim], the tokens from `row` on.
  void apply(float *values, int64_t row, int64_t rows, int64_t dim) const {
    if (!isOn())
      return;
    // Differs from the key that attention uses for its dropout.
    const std::array<uint32_t, 2> key = {static_cast<uint32_t>(seed) ^ 0x5DEECE66u,
                                         static_cast<uint32_t>(seed >> 32)};
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t d = 0; d < dim; d += 4) {
        const auto token = static_cast<uint64_t>(row + i);
        const auto words = philox4x32({static_cast<uint32_t>(d / 4), static_cast<uint32_t>(token),
                                       static_cast<uint32_t>(token >> 32), place},
                                      key);
        for (int64_t e = d; e < std::min(d + 4, dim); ++e)
          values[i * dim + e] = words[e - d] >= least ? values[i * dim + e] * factor : 0;
      }
  }

private:
  double share = 0;
  uint64_t seed = 0;
  uint32_t place = 0, least = 0;
  float factor = 1;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_DROPOUT_H
