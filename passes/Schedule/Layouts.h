//===- Layouts.h - which values vectors and fragments have a place for ----===//
//
// Values may range over any set of spaces; vectors and fragments support these:
//
//   []               one number per head
//   [r], [c]         rows, columns
//   [r, c]           pairs
//   [r, d], [c, e]   panels: rows or columns by one depth
//
// and the contractions of attention: row panels with column panels over a depth, and pairs with a
// panel over the space that both have. Machine lowerings check here first and refuse anything else
// by name; the loops (passes/ToLoops) take any set.
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
