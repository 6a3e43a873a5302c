//===- Owner.h - the outer loop of a stage with a stream ------------------===//
//
// A stream visits blocks of rows and columns; one of the two owns: its blocks are the outer loop,
// or the work items. Either is right for every stage. passes/Schedule decides, in one place, and
// writes the stage's attribute `owner`, which every lowering reads:
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

/// Rows, where nothing says otherwise.
Owner getOwner(StageOp stage);
void setOwner(StageOp stage, Owner owner);

} // namespace mlir::tile

#endif // PE_DIALECT_TILE_OWNER_H
