//===- Dropout.h - weights that are left out by chance --------------------===//
#ifndef PE_PASSES_TOTILE_DROPOUT_H
#define PE_PASSES_TOTILE_DROPOUT_H

#include "passes/ToTile/Attention.h"

#include <cmath>

namespace mlir::tile {

/// 1 / (1 - p) or 0. Forward and backward draw the same words again (`tile.random`).
class Dropout : public WeightFactor {
public:
  /// 0 < probability < 1.
  Dropout(Value seed, double probability) : seed(seed), probability(probability) {}

  Value emit(TileBuilder &t) override {
    // A word is a whole number, so it is at least p * 2^32 where it is at least the next whole one.
    const auto least = static_cast<int64_t>(std::ceil(std::ldexp(probability, 32)));
    return t.create<RandomOp>(t.type({"r", "c"}), seed, t.getI64IntegerAttr(least),
                              t.getF64FloatAttr(1.0 / (1.0 - probability)));
  }

private:
  Value seed; // buffer: one, or one per batch entry
  double probability;
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_DROPOUT_H
