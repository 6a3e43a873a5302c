//===- Executor.h - Runs a plan on the CPU ----------------------*- C++ -*-===//
//
// Binds a plan to its compiled code and runs bound calls: clears buffers that must be zero, packs
// views whose layout kernels cannot use, runs the stages in order, each over its work items on a
// pool, and writes packed results back. Nothing here is specific to attention.
//
// The entries of a call with lengths run together: each stage has one list of work items, those of
// all entries, so that short entries use all threads too.
//
// Executors are immutable; threads may share them.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CPU_EXECUTOR_H
#define PE_RUNTIME_DEVICE_CPU_EXECUTOR_H

#include "runtime/device/common/HostMemory.h"
#include "runtime/device/common/Runner.h"

#include <functional>
#include <memory>

namespace pe::cpu {

/// A compiled stage (runtime/plan/Plan.h).
using StageFunction = void (*)(void *const *buffers, const int64_t *frame, int64_t item);
/// Finds a stage by its symbol; null if there is none.
using SymbolLookup = std::function<void *(const std::string &)>;

class Executor : public device::Runner {
public:
  /// Creates an executor, which keeps `code` alive.
  static Expected<Executor> create(plan::Plan plan, const SymbolLookup &lookup,
                                   std::shared_ptr<void> code, device::HostOptions options = {});

  const device::BoundPlan &bound() const override { return plan; }
  using Runner::run;
  Status run(const device::BoundCall &call, const device::CallContext &context) const override;
  Status run(const device::BoundEntries &entries,
             const device::CallContext &context) const override;

private:
  Executor() = default;
  void findPointers(size_t stage, const device::BoundCall &call, char *first,
                    void **pointers) const;
  Status runStage(size_t index, const device::BoundEntries &entries, ParallelFor &pool) const;
  Status runStages(const device::BoundCall &call, char *first, ParallelFor &pool) const;
  Status runStage(size_t index, const device::BoundCall &call, char *first,
                  ParallelFor &pool) const;

  device::BoundPlan plan;
  std::vector<StageFunction> stages;
  std::shared_ptr<void> code;
  device::HostOptions options;
};

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_EXECUTOR_H
