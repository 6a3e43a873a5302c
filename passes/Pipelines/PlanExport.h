//===- PlanExport.h - a lowered tile.plan as plain data -------------------===//
#ifndef PE_PASSES_PIPELINES_PLANEXPORT_H
#define PE_PASSES_PIPELINES_PLANEXPORT_H

#include "dialect/Tile/Tile.h"
#include "runtime/plan/Plan.h"

namespace mlir::pe {

/// Exports a plan whose stages are already lowered (tile.launch). Emits an error and fails if a
/// stage is not lowered. The caller adds target, features and structure.
FailureOr<::pe::plan::Plan> exportPlan(tile::PlanOp plan);

/// Returns the DType of the MLIR element type `type`, which has the same name, or std::nullopt if
/// plans have no buffers of this type.
std::optional<::pe::DType> dtypeOf(Type type);

/// Reads the initialization and training settings of a parameter with `rank` axes from the `pe.*`
/// attributes among `attributes`. Without `pe.decay`, weight decay applies to parameters with two
/// or more axes.
::pe::plan::ParameterInfo parameterInfo(DictionaryAttr attributes, size_t rank);

} // namespace mlir::pe

#endif // PE_PASSES_PIPELINES_PLANEXPORT_H
