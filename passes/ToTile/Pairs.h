//===- Pairs.h - Which pairs of an attention take part --------------------===//
#ifndef PE_PASSES_TOTILE_PAIRS_H
#define PE_PASSES_TOTILE_PAIRS_H

#include "dialect/PE/PEAttention.h"
#include "passes/ToTile/MaskFunction.h"

#include <memory>

namespace mlir::tile {

/// Sets the pairs of `a`: those with `range`, inside the bounds of every row, which a prepare stage
/// writes, where the scalar code of a mask says true. `predicate` keeps that code where there is
/// some. Fails, with a message, where a mask reads what is no argument of the entry function.
LogicalResult createPairs(PlanContext &context, pe::AttentionOp op,
                          const pe::DifferenceRange &range, Attention &a,
                          std::unique_ptr<MaskFunction> &predicate);

/// The pairs with `range` inside the bounds of every row that `pairs` has.
Value withRange(TileBuilder &plan, Value pairs, const pe::DifferenceRange &range);

/// Every pair, without a mask.
Value allPairs(TileBuilder &plan);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_PAIRS_H
