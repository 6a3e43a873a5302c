//===- Pairs.h - the pairs that an attention includes ---------------------===//
#ifndef PE_PASSES_TOTILE_PAIRS_H
#define PE_PASSES_TOTILE_PAIRS_H

#include "dialect/PE/PEAttention.h"
#include "passes/ToTile/MaskFunction.h"

#include <memory>

namespace mlir::tile {

/// Sets the pairs of `a`: those in `range`, inside the bounds of every row (written by a prepare
/// stage), for which the scalar code of the mask returns true. `predicate` receives that code if
/// there is any. Fails with a message if a mask reads a value that is not an argument of the entry
/// function.
LogicalResult createPairs(PlanContext &context, pe::AttentionOp op,
                          const pe::DifferenceRange &range, Attention &a,
                          std::unique_ptr<MaskFunction> &predicate);

/// Returns the pairs in `range` inside the row bounds of `pairs`.
Value withRange(TileBuilder &plan, Value pairs, const pe::DifferenceRange &range);

/// Returns all pairs, without a mask.
Value allPairs(TileBuilder &plan);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_PAIRS_H
