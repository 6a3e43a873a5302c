//===- Variation.h - dependence of map values on row and column -----------===//
//
// The region of a tile.map is written for one pair. A value that does not depend on the row can be
// evaluated once per key, and one that depends on neither once per head. The lowerings to vectors
// and to fragments both use this analysis.
//
//   ^bb0(%x: f32, %h: index, %i: index, %j: index):   // over [r, c], [], [r], [c]
//     %s = tile.read %amp[%h]                Nothing
//     %f = ... %i                            Row
//     %e = math.exp2 %f                      Row
//     %g = ... %j                            Column
//     %y = arith.mulf %e, %g                 Both
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_SCALAR_VARIATION_H
#define PE_PASSES_SCALAR_VARIATION_H

#include "dialect/Tile/Tile.h"

namespace mlir::tile {

/// Bit flags of a value that depends on the row, on the column, or on both. A depth counts as both.
enum Variation : unsigned { kNothing = 0, kRow = 1, kColumn = 2, kBoth = kRow | kColumn };

/// The variation of the values in the regions of maps.
class RegionVariation {
public:
  /// Adds the region of `map`; a no-op if it was added before.
  void add(MapOp map);
  unsigned of(Value regionValue) const { return variations.lookup(regionValue); }

private:
  void add(Block &block);

  llvm::DenseSet<Operation *> known;
  llvm::DenseMap<Value, unsigned> variations;
};

} // namespace mlir::tile

#endif // PE_PASSES_SCALAR_VARIATION_H
