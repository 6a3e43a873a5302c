//===- LaunchWrites.h - the buffers that a lowered stage writes -----------===//
//
// The runtime computes only requested results and keeps the results of preparation, so it needs to
// know the buffers that each stage writes. The tile operations of a stage determine them; the
// launch that replaces the stage records them for the plan.
//
//   tile.launch @forward forward items "b*hq" (%q, %table, %o) {writes = array<i64: 2>} : ...
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOLOOPS_LAUNCHWRITES_H
#define PE_PASSES_TOLOOPS_LAUNCHWRITES_H

#include "dialect/Tile/Tile.h"

namespace mlir::tile {

/// Records on `launch`, which replaces `stage` or a part of it, the buffers that it may write: the
/// buffers that operations of the stage write, and the buffers that a lowering added.
void noteWrites(LaunchOp launch, StageOp stage);

} // namespace mlir::tile

#endif // PE_PASSES_TOLOOPS_LAUNCHWRITES_H
