//===- Materialize.h - the bias and rotation tables as results ------------===//
//
// For plots and for checking tables: a plan that builds the tables of a bias and, instead of
// attention, writes the bias of every pair as the kernel's stream reads it from them.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_MATERIALIZE_H
#define PE_PASSES_TOTILE_MATERIALIZE_H

#include "dialect/PE/PE.h"
#include "passes/ToTile/Attention.h"
#include "passes/ToTile/PlanContext.h"

namespace mlir::tile {

/// Adds the result "pe.bias" [b, hq, r, c] in natural units and the stage that writes it: the sum
/// of all terms, including those that depend only on the query. Pairs outside `attention.pairs` are
/// 0.
void emitBias(PlanContext &context, const Attention &attention);

/// Adds the results "pe.cosine" and "pe.sine" [r, pairs] at the positions of the queries, and the
/// stages that write them.
LogicalResult emitRotationTables(PlanContext &context, pe::RotationOpInterface rotation,
                                 StringRef name);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_MATERIALIZE_H
