//===- DocumentBounds.h - begin and end of the document of every position -===//
#ifndef PE_PASSES_TOTILE_DOCUMENTBOUNDS_H
#define PE_PASSES_TOTILE_DOCUMENTBOUNDS_H

#include "dialect/PE/PEMasks.h"
#include "passes/ToTile/PlanContext.h"

namespace mlir::tile {

/// Adds the buffers of both results, [r] or [c], and the prepare stage that fills them. Scalar code
/// then reads them like arguments.
void createDocumentBounds(PlanContext &context, pe::DocumentBoundsOp op, const std::string &name);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_DOCUMENTBOUNDS_H
