//===- MaskBlocks.h - What masks from data come to over many pairs --------===//
//
// Prepare stages that summarise a mask, so that kernels visit and read no more than they must: the
// columns that some row takes at all, and what scalar code says about blocks of pairs and about
// columns alone. They cost O(N) and O(N^2 / 64^2).
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_MASKBLOCKS_H
#define PE_PASSES_TOTILE_MASKBLOCKS_H

#include "dialect/PE/PEMasks.h"
#include "passes/ToTile/PlanContext.h"

namespace mlir::tile {

/// How far from the end the first column lies that some row takes, and where the last one ends, by
/// the bounds of all rows (`within` of tile.pairs).
Value createReach(PlanContext &context, const std::string &name, Value low, Value high);

/// The states of blocks of pairs (`states` of tile.pairs); null where the code says nothing about
/// blocks.
Value createBlockStates(PlanContext &context, const std::string &name, pe::MaskFnOp mask);

/// Whether some row may take a column (`taken` of tile.pairs), by the conditions of the code that
/// depend on the column and the batch entry alone; null where there are none.
Value createTaken(PlanContext &context, const std::string &name, pe::MaskFnOp mask);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_MASKBLOCKS_H
