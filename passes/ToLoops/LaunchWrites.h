//===- LaunchWrites.h - which buffers a lowered stage writes --------------===//
//
// A runtime that computes only what is asked for, and keeps what preparation has made, has to know
// which stage writes what. The tile operations say so while a stage still has them; the launch that
// takes its place carries it on to the plan.
//
//   tile.launch @forward forward items "b*hq" (%q, %table, %o) {writes = array<i64: 2>} : ...
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOLOOPS_LAUNCHWRITES_H
#define PE_PASSES_TOLOOPS_LAUNCHWRITES_H

#include "dialect/Tile/Tile.h"

namespace mlir::tile {

/// Of a `tile.launch`: positions among its buffers.
constexpr llvm::StringLiteral kWritesAttr("writes");

/// Notes on `launch`, which takes the place of `stage` or of a part of it, which of its buffers it
/// may write: what the stage's operations write, and what a lowering added.
void noteWrites(LaunchOp launch, StageOp stage);

} // namespace mlir::tile

#endif // PE_PASSES_TOLOOPS_LAUNCHWRITES_H
