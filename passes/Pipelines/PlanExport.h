//===- PlanExport.h - a lowered tile.plan as plain data -------------------===//
#ifndef PE_PASSES_PIPELINES_PLANEXPORT_H
#define PE_PASSES_PIPELINES_PLANEXPORT_H

#include "dialect/Tile/Tile.h"
#include "runtime/plan/Plan.h"

namespace mlir::pe {

/// Exports a plan whose stages are already lowered (tile.launch). Fails with an error on the op if
/// a stage is left. Target, features and structure are the caller's to add.
FailureOr<::pe::plan::Plan> exportPlan(tile::PlanOp plan);

/// How a parameter of `rank` axes is initialised and trained: the `pe.*` attributes among
/// `attributes`. Without `pe.decay`, weight decay applies from two axes on.
::pe::plan::ParameterInfo parameterInfo(DictionaryAttr attributes, size_t rank);

} // namespace mlir::pe

#endif // PE_PASSES_PIPELINES_PLANEXPORT_H
