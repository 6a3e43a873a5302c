//===- MaskBlocks.h - prepared summaries of data-dependent masks ----------===//
//
// Prepare stages that summarize a mask, so that kernels visit and read as little as possible: the
// columns that any row needs, and the value of the scalar code on blocks of pairs and on single
// columns. They cost O(N) and O(N^2 / 64^2).
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_MASKBLOCKS_H
#define PE_PASSES_TOTILE_MASKBLOCKS_H

#include "dialect/PE/PEMasks.h"
#include "passes/ToTile/PlanContext.h"

namespace mlir::tile {

/// Returns the first needed column, as a distance from the end, and the end of the last needed one,
/// by the bounds of all rows (`within` of tile.pairs).
Value createReach(PlanContext &context, const std::string &name, Value low, Value high);

/// Returns the states of blocks of pairs (`states` of tile.pairs) by code that decides blocks
/// (`blocks` of pe.mask_parts).
Value createBlockStates(PlanContext &context, const std::string &name, pe::MaskFnOp mask);

/// Returns a buffer that tells for every column if any row may need it (`taken` of tile.pairs), by
/// the conditions of the code that depend only on the column and the batch entry. Returns null if
/// there are no such conditions.
Value createTaken(PlanContext &context, const std::string &name, pe::MaskFnOp mask);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_MASKBLOCKS_H
