//===- HostPool.h - Thread pool of the calling application ------*- C++ -*-===//
//
// Implements ParallelFor with the application's own parallel_for (pe_pool in pe-c.h). The
// application distributes a range of parts among its threads in any way. Each part takes work items
// one by one until none is left, so that items of different length are balanced. The calling thread
// runs the items that the application did not.
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
  /// Both functions of `pool` must be set, and it must outlive this object.
  explicit HostPool(const pe_pool &pool) : pool(pool) {}

  /// At least 1.
  int threads() const override;
  void run(int64_t items, Body body, void *context) override;

  /// Returns the first error of the application's functions. All items have run even after an
  /// error.
  Status status() const;

private:
  const pe_pool &pool;
  mutable int32_t failure = 0;
};

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_HOSTPOOL_H
