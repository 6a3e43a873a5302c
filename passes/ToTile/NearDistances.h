//===- NearDistances.h - sums over keys per near distance -----------------===//
//
// A vector P(i - j) with constant tails needs the sum of a value over the keys at each distance
// low ... high. At inner distances that is one pair, which is written to a table. The first and the
// last distance include all distances beyond them; their sums over the keys are reductions.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_NEARDISTANCES_H
#define PE_PASSES_TOTILE_NEARDISTANCES_H

#include "dialect/PE/PE.h"
#include "passes/ToTile/PlanContext.h"

namespace mlir::tile {

/// The distances of a term, under a mask with the differences `range`.
struct NearDistances {
  NearDistances(pe::ContentAttr structure, pe::DifferenceRange range);

  int64_t low, count;
  std::string extent;      // `count` as a size expression
  bool hasBelow, hasAbove; // the mask keeps pairs below the first or above the last

  unsigned farSums() const { return hasBelow + hasAbove; }
  /// Returns the sums of `value` over the block's keys at the first distance and below, and at the
  /// last and above, if there are such pairs.
  SmallVector<Value> emitFarSums(TileBuilder &t, Value value) const;
};

/// The tables of one value: its pairs [b, hq, count, r] and far sums [b, hq, r].
class NearSums {
public:
  /// Creates the buffers before the operation `before`.
  NearSums(PlanContext &context, const NearDistances &distances, const std::string &name,
           Operation *before);

  /// Writes the near pairs of a value over pairs.
  void emitNear(TileBuilder &t, Value value) const;
  /// Stores the far sums over all keys, after the stream.
  void store(TileBuilder &t, ValueRange farSums) const;
  /// Returns the entry of the table, or the far sum.
  Value at(Scalar &s, Value batch, Value head, Value vector, Value row) const;
  /// Replaces every entry of the table, at batch, head, vector and row, by `of(entry)`.
  void rewrite(TileBuilder &t, llvm::function_ref<Value(Scalar &, Value, ValueRange)> of) const;

private:
  NearDistances distances;
  Value pairs, below, above; // null if absent
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_NEARDISTANCES_H
