//===- HostMemory.h - Before and behind the stages, on the host -*- C++ -*-===//
//
// What every device that computes on the host does around the stages of a bound call: clear what
// has to be zero, copy packed views into the workspace, and write packed results back.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_COMMON_HOSTMEMORY_H
#define PE_RUNTIME_DEVICE_COMMON_HOSTMEMORY_H

#include "pe/Parallel.h"
#include "runtime/device/common/BoundCall.h"

namespace pe::device {

/// `first` is the workspace's first byte (BoundCall::firstByte). With `poison`, whatever the call
/// is to write is NaN first.
void beginOnHost(const BoundCall &call, char *first, bool poison, ParallelFor &pool);
void endOnHost(const BoundCall &call, char *first, ParallelFor &pool);

} // namespace pe::device

#endif // PE_RUNTIME_DEVICE_COMMON_HOSTMEMORY_H
