//===- HostPool.h - The threads of a host program ---------------*- C++ -*-===//
//
// A ParallelFor on top of a host's own parallel_for (pe-c.h, pe_pool). The host divides a range
// among its threads as it likes; each part takes work items one by one until none is left, so that
// items of different length do not wait for each other. What the host did not run, the caller runs.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CPU_HOSTPOOL_H
#define PE_RUNTIME_DEVICE_CPU_HOSTPOOL_H

#include "pe/Error.h"
#include "pe/Parallel.h"
#include "pe/pe-c.h"

namespace pe::cpu {

class HostPool final : public ParallelFor {
public:
  /// Both functions of `pool` are there; it outlives this object.
  explicit HostPool(const pe_pool &pool) : pool(pool) {}

  /// At least 1.
  int threads() const override;
  void run(int64_t items, Body body, void *context) override;

  /// The first error of the host's functions; the items were run nevertheless.
  Status status() const;

private:
  const pe_pool &pool;
  mutable int32_t failure = 0;
};

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_HOSTPOOL_H
