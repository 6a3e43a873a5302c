//===- ScalarStages.h - preparation and reduction stages as kernels -------===//
//
// Every `tile.foreach` of a stage becomes a separate kernel, or a part of a kernel with independent
// loops. Kernels of one call run one after the other, which is the order that loops of a stage
// require. Within a loop nest, the indices that distinguish the written elements are divided among
// threads; each thread loops over the others in program order, so sums are bitwise equal in every
// run.
//
//   foreach over [hq, t] { sums[h] += f(h, t) }    one thread per h, a loop over t
//   foreach over [hq, t] { table[h, t] = f(h, t) } one thread per (h, t)
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_SCALARSTAGES_H
#define PE_PASSES_TOGPU_SCALARSTAGES_H

#include "dialect/Tile/Tile.h"

namespace mlir::tile::gpu {

/// Creates the kernels and launches of a stage of loops; the stage remains.
void lowerScalarStage(StageOp stage);

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_SCALARSTAGES_H
