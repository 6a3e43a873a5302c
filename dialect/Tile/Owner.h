//===- Owner.h - The outer loop of a stage with a stream ------------------===//
//
// A stream visits blocks of rows and columns. One of the two is the owner: its blocks are the outer
// loop or the work items. Both choices are correct for every stage. passes/Schedule chooses, and
// every lowering reads it from the schedule of the stage:
//
//   tile.stage @backward backward over ["b", "hkv"] schedule #step.gpu<owner = columns> { ... }
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_TILE_OWNER_H
#define PE_DIALECT_TILE_OWNER_H

#include "dialect/Tile/Tile.h"

namespace mlir::tile {

/// Returns the owner of a stage; rows if it has no schedule.
Owner getOwner(StageOp stage);

} // namespace mlir::tile

#endif // PE_DIALECT_TILE_OWNER_H
