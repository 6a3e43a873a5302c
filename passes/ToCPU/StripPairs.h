//===- StripPairs.h - data-dependent limits of a strip's pairs ------------===//
//
// A stage's pairs may be limited by data in addition to the band: by bounds of every row and, for
// masks that are scalar code, by states of blocks (tile.pairs). StripPairs evaluates these limits
// for a strip of rows against a block of keys. All code that depends on them uses this class, so
// that two launches always agree on the rows that see a block.
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_STRIPPAIRS_H
#define PE_PASSES_TOCPU_STRIPPAIRS_H

#include "passes/ToCPU/StripMask.h"

namespace mlir::tile::cpu {

/// Evaluates the data-dependent limits of a stage's pairs.
class StripPairs {
public:
  explicit StripPairs(StageContext &context)
      : context(context), e(context.e), low(context.stage.getLowColumns()),
        high(context.stage.getHighColumns()), states(context.stage.getBlockStates()) {}

  bool hasBounds() const { return static_cast<bool>(low); }
  bool hasStates() const { return static_cast<bool>(states); }
  /// Returns true if the query heads of a key head may keep different pairs.
  bool dependOnHead() const;

  /// Returns the columns between the smallest and the largest bound of the strip's rows.
  Interval<Index> columnsOf(const StripPlace &strip);
  /// Returns true (an i1) if the bounds of every row keep the entire block. All rows must exist.
  Value areAllWithin(const StripPlace &strip);
  /// The smallest and the largest state of the strip against the block, as i32.
  struct States {
    Value least, most;
  };
  States statesOf(const StripPlace &strip);
  /// Returns the rows from the first to the last strip of `rows` that has pairs in the block by
  /// bounds and states. `rows` begins with a strip and belongs to one part. The result is empty
  /// (begin >= end) if there is no such strip.
  Interval<Index> rowsSeeing(StripPlace strip, const Interval<Index> &rows);

private:
  /// Returns false (an i1) only if the strip and the block have no pair.
  Value meet(const StripPlace &strip);

  StageContext &context;
  Emitter &e;
  Value low, high, states; // buffers, or null
};

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_STRIPPAIRS_H
