//===- StepAttributes.h - The step dialect --------------------------------===//
//
// Attributes with the choices of a schedule. StepAttributes.td describes them.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_STEP_STEPATTRIBUTES_H
#define PE_DIALECT_STEP_STEPATTRIBUTES_H

#include "dialect/Step/CpuSchedule.h"
#include "dialect/Step/GpuSchedule.h"

#include "dialect/Step/StepDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/Step/StepAttributes.h.inc"

namespace mlir::step {

/// Returns the fields of a stage's schedule if it has the attribute `Attr`, otherwise null.
template <typename Attr> auto scheduleOf(tile::StageOp stage) {
  auto attr = dyn_cast_or_null<Attr>(Attribute(stage.getScheduleAttr()));
  return attr ? &attr.getFields() : nullptr;
}

} // namespace mlir::step

#endif // PE_DIALECT_STEP_STEPATTRIBUTES_H
