//===- TokenDropout.h - dropout of embedded tokens ------------------------===//
#ifndef PE_PASSES_TOTILE_TOKENDROPOUT_H
#define PE_PASSES_TOTILE_TOKENDROPOUT_H

#include "passes/ToTile/TileBuilder.h"

namespace mlir::tile {

/// The factors of `pe.embed ... dropout(p, %seed)`. Forward and backward draw the same words, by
/// batch entry, position and dimension, so that shards agree.
class TokenDropout {
public:
  /// `seed` is a buffer of one value, or of one per batch entry; 0 < probability < 1.
  TokenDropout(Value seed, double probability) : seed(seed), probability(probability) {}

  /// Returns 1 / (1 - p) or 0, in f32.
  Value emit(Scalar &s, Value batch, Value row, Value dim) const;

private:
  Value seed;
  double probability;
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_TOKENDROPOUT_H
