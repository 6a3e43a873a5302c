//===- ValueChecks.h - Checks of the elements of arguments ------*- C++ -*-===//
#ifndef PE_RUNTIME_DEVICE_COMMON_VALUECHECKS_H
#define PE_RUNTIME_DEVICE_COMMON_VALUECHECKS_H

#include "runtime/device/common/BoundEntries.h"

namespace pe::device {

/// Checks the elements of the arguments that have a plan::ValueRequirement. The arguments must be
/// in host memory.
Status checkValues(const BoundCall &call);
/// Same, of all entries.
Status checkValues(const BoundEntries &entries);

} // namespace pe::device

#endif // PE_RUNTIME_DEVICE_COMMON_VALUECHECKS_H
