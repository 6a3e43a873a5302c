//===- Layouts.h - values and contractions that machine lowerings support -===//
//
// Values may range over any set of spaces; vectors and fragments support these:
//
//   []               one value per head
//   [r], [c]         rows, columns
//   [r, c]           pairs
//   [r, d], [c, e]   panels: rows or columns by one depth
//
// and the contractions of attention: row panels with column panels over a depth, and pairs with a
// panel over their common space. Machine lowerings check this first and report anything else by
// name; the loops (passes/ToLoops) support any set.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_SCHEDULE_LAYOUTS_H
#define PE_PASSES_SCHEDULE_LAYOUTS_H

#include "dialect/Math/FragmentLayout.h"
#include "dialect/Tile/Tile.h"

#include <string>

namespace mlir::tile {

/// Fails if a value or a contraction of the stage has no layout; `why` gets the reason.
LogicalResult checkLayouts(StageOp stage, std::string &why);

/// Returns the fragments of a value with a layout, if `owner` has the outer loop.
::pe::math::FragmentKind kindOf(const SpaceSet &spaces, Owner owner);

} // namespace mlir::tile

#endif // PE_PASSES_SCHEDULE_LAYOUTS_H
