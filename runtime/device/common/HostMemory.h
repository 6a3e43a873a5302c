//===- HostMemory.h - Clears and copies around host stages ------*- C++ -*-===//
//
// The work of every host device before and after the stages of a bound call: it clears buffers that
// must be zero, copies packed views into the workspace, and writes packed results back.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_COMMON_HOSTMEMORY_H
#define PE_RUNTIME_DEVICE_COMMON_HOSTMEMORY_H

#include "pe/Parallel.h"
#include "runtime/device/common/BoundCall.h"

namespace pe::device {

/// Clears buffers and copies packed inputs. `first` is the first byte of the workspace
/// (BoundCall::firstByte). With `poison`, everything that the call writes is first set to NaN.
void beginOnHost(const BoundCall &call, char *first, bool poison, ParallelFor &pool);
/// Writes packed outputs back to the caller's views.
void endOnHost(const BoundCall &call, char *first, ParallelFor &pool);

} // namespace pe::device

#endif // PE_RUNTIME_DEVICE_COMMON_HOSTMEMORY_H
