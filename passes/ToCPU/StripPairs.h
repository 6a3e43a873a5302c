//===- StripPairs.h - what data says of a strip and a block of keys -------===//
//
// A stage's pairs may be limited by data beside the band: bounds of every row and, for masks that
// are scalar code, states of blocks (tile.pairs). Here is what they say of a strip of rows against
// a block of keys. Everything that follows from them asks here, so that two launches that must
// agree on which rows see a block cannot disagree.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_STRIPPAIRS_H
#define PE_PASSES_TOCPU_STRIPPAIRS_H

#include "passes/ToCPU/StripEmitter.h"

namespace mlir::tile::cpu {

class StripPairs {
public:
  explicit StripPairs(StageContext &context)
      : context(context), e(context.e), low(context.stage.getLowColumns()),
        high(context.stage.getHighColumns()), states(context.stage.getBlockStates()) {}

  bool hasBounds() const { return static_cast<bool>(low); }
  bool hasStates() const { return static_cast<bool>(states); }
  /// Whether the query heads of a key head may keep different pairs.
  bool dependOnHead() const;

  /// The columns between the least and the greatest bound of the strip's rows.
  Interval<Index> columnsOf(const StripPlace &strip);
  /// Whether the bounds of every row, all of which exist, keep the whole block.
  Value areAllWithin(const StripPlace &strip);
  /// The least and the greatest state of the strip against the block, as i32.
  struct States {
    Value least, most;
  };
  States statesOf(const StripPlace &strip);
  /// Of `rows`, which begin with a strip and belong to one part: those from the first to the last
  /// strip that has pairs in the block by bounds and states. begin >= end where none has.
  Interval<Index> rowsSeeing(StripPlace strip, const Interval<Index> &rows);

private:
  /// False only if no pair of the strip and the block takes part.
  Value meet(const StripPlace &strip);

  StageContext &context;
  Emitter &e;
  Value low, high, states; // buffers, or null
};

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_STRIPPAIRS_H
