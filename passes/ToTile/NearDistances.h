//===- NearDistances.h - sums over keys per near distance ------------------===//
//
// What a vector P of i - j with constant tails needs of a value over pairs: its sum over the keys
// at each distance low ... high. Inside, that is one pair, which is written to a table; the first
// and the last distance stand for all beyond them, whose sums over the keys are reductions.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_NEARDISTANCES_H
#define PE_PASSES_TOTILE_NEARDISTANCES_H

#include "passes/Analysis/Content.h"
#include "passes/ToTile/PlanContext.h"

namespace mlir::tile {

/// The distances of a term, under a mask with the differences `range`.
struct NearDistances {
  NearDistances(const pe::ContentStructure &structure, pe::DifferenceRange range);

  int64_t low, count;
  std::string extent;      // count, as a size expression
  bool hasBelow, hasAbove; // pairs beyond the first and the last take part

  unsigned farSums() const { return hasBelow + hasAbove; }
  /// The sums of `value` over the block's keys at the first distance and below, and at the last and
  /// above, where there are such pairs.
  SmallVector<Value> emitFarSums(TileBuilder &t, Value value) const;
};

/// The tables of one value: its pairs [b, hq, count, r] and far sums [b, hq, r].
class NearSums {
public:
  /// The buffers are made before the operation `before`.
  NearSums(PlanContext &context, const NearDistances &distances, const std::string &name,
           Operation *before);

  /// Writes the near pairs of a value over pairs.
  void emitNear(TileBuilder &t, Value value) const;
  /// Stores the far sums over all keys, behind the stream.
  void store(TileBuilder &t, ValueRange farSums) const;
  /// What the table holds, or the far sum.
  Value at(Scalar &s, Value batch, Value head, Value vector, Value row) const;
  /// Replaces every entry of the table, at batch, head, vector and row, by `of(entry)`.
  void rewrite(TileBuilder &t, llvm::function_ref<Value(Scalar &, Value, ValueRange)> of) const;

private:
  NearDistances distances;
  Value pairs, below, above; // null where there are none
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_NEARDISTANCES_H
