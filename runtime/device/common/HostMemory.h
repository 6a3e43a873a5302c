//===- HostMemory.h - Clears and copies around host stages ------*- C++ -*-===//
//
// The work of every host device before and after the stages of a bound call: it clears buffers that
// must be zero, copies packed views into the workspace, and writes packed results back.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_COMMON_HOSTMEMORY_H
#define PE_RUNTIME_DEVICE_COMMON_HOSTMEMORY_H

#include "pe/Parallel.h"
#include "runtime/device/common/BoundEntries.h"

#include <functional>
#include <string>

namespace pe::device {

/// Options of calls in host memory, for tests.
struct HostOptions {
  /// Fills everything that the call writes with NaN first, so that elements that no stage wrote
  /// are detected.
  bool poison = false;
  /// Called with every buffer of a stage before the stage runs; it may change the contents.
  std::function<void(const std::string &name, void *data, int64_t bytes)> beforeStage = nullptr;
};

/// Sets everything that the call writes to NaN. `first` is the first byte of the workspace
/// (BoundCall::firstByte).
void poisonOnHost(const BoundCall &call, char *first, ParallelFor &pool);
/// Clears buffers and copies packed inputs.
void beginOnHost(const BoundCall &call, char *first, ParallelFor &pool);
/// Writes packed outputs back to the caller's views.
void endOnHost(const BoundCall &call, char *first, ParallelFor &pool);
/// Completes the gradients after all entries have run: clears the gradients of keys beyond the
/// lengths, and adds up the gradients of shared arguments in the order of the entries, in f64.
void completeOnHost(const BoundEntries &entries, ParallelFor &pool);

} // namespace pe::device

#endif // PE_RUNTIME_DEVICE_COMMON_HOSTMEMORY_H
