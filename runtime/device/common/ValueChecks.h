//===- ValueChecks.h - Numbers that a call relies on ------------*- C++ -*-===//
#ifndef PE_RUNTIME_DEVICE_COMMON_VALUECHECKS_H
#define PE_RUNTIME_DEVICE_COMMON_VALUECHECKS_H

#include "runtime/device/common/BoundCall.h"

namespace pe::device {

/// Checks the arguments whose numbers a plan says something about (plan::ValueRequirement). Their
/// memory is the host's.
Status checkValues(const BoundCall &call);

} // namespace pe::device

#endif // PE_RUNTIME_DEVICE_COMMON_VALUECHECKS_H
