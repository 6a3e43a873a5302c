//===- Pairs.h - the pairs that an attention includes ---------------------===//
#ifndef PE_PASSES_TOTILE_PAIRS_H
#define PE_PASSES_TOTILE_PAIRS_H

#include "dialect/PE/PEAttention.h"
#include "passes/ToTile/FunctionInputs.h"
#include "passes/ToTile/MaskFunction.h"

#include <memory>
#include <optional>

namespace mlir::tile {

/// The second phase of an attention: the pairs that it includes.
struct AttentionPairs {
  pe::DifferenceRange range;               ///< of i - j
  Value pairs;                             ///< in `range`, inside the bounds of every row
  std::unique_ptr<MaskFunction> predicate; ///< scalar code that excludes further pairs; or null
  /// The range of a second pass, over the keys after a query, if there is one (pe::Direction).
  std::optional<pe::DifferenceRange> laterRange;

  /// Adds the prepare stages that write the bounds of rows. Fails with a message if a mask reads a
  /// value that is not an argument of the entry function.
  static FailureOr<AttentionPairs> create(PlanContext &context, const AttentionInputs &inputs);
};

/// Returns the pairs in `range` inside the row bounds of `pairs`.
Value withRange(TileBuilder &plan, Value pairs, const pe::DifferenceRange &range);

/// Returns all pairs, without a mask.
Value allPairs(TileBuilder &plan);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_PAIRS_H
