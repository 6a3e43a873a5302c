//===- ScalarStages.h - preparation and reduction stages as kernels -------===//
//
// Every `tile.foreach` of a stage becomes a kernel of its own; kernels of one call run one after
// the other, which is all the order that loops of a stage ask for. Within a loop nest the indices
// that tell the written elements apart are divided among threads; over the others a thread loops in
// the written order, so sums are the same to the bit in every run.
//
//   foreach over [hq, t] { sums[h] += f(h, t) }    one thread per h, a loop over t
//   foreach over [hq, t] { table[h, t] = f(h, t) } one thread per (h, t)
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_SCALARSTAGES_H
#define PE_PASSES_TOGPU_SCALARSTAGES_H

#include "dialect/Tile/Tile.h"

#include "llvm/ADT/SmallBitVector.h"

namespace mlir::tile::gpu {

/// Which arguments of the loop's region (spaces of the stage, then extents) may be divided among
/// threads: different values of them never touch the same written element.
llvm::SmallBitVector parallelIndices(ForeachOp loop);

/// Writes the kernels and launches of a stage of loops; the stage remains.
void lowerScalarStage(StageOp stage);

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_SCALARSTAGES_H
