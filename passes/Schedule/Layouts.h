//===- Layouts.h - which values vectors and fragments have a place for ----===//
//
// Values range over any set of spaces; lanes and fragments are made for these:
//
//   []               one number of the head
//   [r], [c]         rows, columns
//   [r, c]           pairs
//   [r, d], [c, e]   panels: rows or columns by one depth
//
// and contractions for those of attention: panels of rows and columns over a depth, pairs with a
// panel over the space that both have. Lowerings to machines ask here first and refuse anything
// else by name; the loops (passes/ToLoops) take any set.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_SCHEDULE_LAYOUTS_H
#define PE_PASSES_SCHEDULE_LAYOUTS_H

#include "dialect/Tile/Tile.h"

#include <string>

namespace mlir::tile {

/// Fails with the reason in `why` where a value or contraction of the stage has no layout.
LogicalResult checkLayouts(StageOp stage, std::string &why);

} // namespace mlir::tile

#endif // PE_PASSES_SCHEDULE_LAYOUTS_H
