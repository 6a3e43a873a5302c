//===- Owner.h - The outer loop of a stage with a stream ------------------===//
//
// A stream visits blocks of rows and columns. One of the two is the owner: its blocks are the outer
// loop or the work items. Both choices are correct for every stage. passes/Schedule chooses and
// sets the attribute `owner` of the stage, which every lowering reads:
//
//   tile.stage @backward backward over ["b", "hkv"] attributes {owner = "columns"} { ... }
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_TILE_OWNER_H
#define PE_DIALECT_TILE_OWNER_H

#include "dialect/Tile/Tile.h"

namespace mlir::tile {

enum class Owner { Rows, Columns };

constexpr llvm::StringLiteral kOwnerAttribute = "owner";

/// Returns the owner of a stage; rows by default.
Owner getOwner(StageOp stage);
void setOwner(StageOp stage, Owner owner);

} // namespace mlir::tile

#endif // PE_DIALECT_TILE_OWNER_H
