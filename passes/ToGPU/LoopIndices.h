//===- LoopIndices.h - how threads may divide a loop of a scalar stage ----===//
//
// Indices that distinguish the written elements are divided among threads. The last index of a loop
// may be divided, too, although all its iterations add to the same elements: among the lanes of a
// warp, which add their terms as a tree.
//
//   foreach over [hq, 32] { sums[h] += f(h, lane) }     one warp per h
//
// The iteration of the last lane may continue with the sums: the last lane writes them.
//
//   foreach over [hq, 32] { sums[h] += f(h, lane); if (lane == 31) { grad[h] = sums[h] } }
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_LOOPINDICES_H
#define PE_PASSES_TOGPU_LOOPINDICES_H

#include "dialect/Tile/Tile.h"

#include "llvm/ADT/SmallBitVector.h"

namespace mlir::tile::gpu {

/// The lanes of a warp.
inline constexpr int64_t kLanes = 32;

/// Returns the arguments of the loop's region (spaces of the stage, then extents) that can be
/// divided among threads: different values of them never access the same written element.
llvm::SmallBitVector parallelIndices(ForeachOp loop);

/// Returns the sums that the lanes of a warp add as a tree, or nothing if the loop's last index is
/// not divided among lanes. All lanes execute them, at the same element.
llvm::SmallDenseSet<Operation *> laneSums(ForeachOp loop);

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_LOOPINDICES_H
