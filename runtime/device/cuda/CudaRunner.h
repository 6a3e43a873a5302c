//===- CudaRunner.h - Calls on a GPU ----------------------------*- C++ -*-===//
//
// A call clears the zeroed part of the workspace and of the caller's tensors, copies views that
// must be packed, and launches kernels, all on the caller's stream. It does not allocate or
// synchronize, so that a CUDA graph can capture it. The first call on a device loads the kernels.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CUDA_CUDARUNNER_H
#define PE_RUNTIME_DEVICE_CUDA_CUDARUNNER_H

#include "runtime/device/common/Runner.h"
#include "runtime/device/cuda/Device.h"

#include <map>
#include <mutex>

namespace pe::cuda {

class CudaRunner : public device::Runner {
public:
  /// Checks the plan. The first call on a device loads the kernels there; no other device is used.
  static Expected<std::shared_ptr<const CudaRunner>> create(plan::Plan plan, std::string ptx);

  const device::BoundPlan &bound() const override { return plan; }
  using Runner::run;
  /// Starts the call on the stream of the context, after all checks.
  Status run(const device::BoundCall &call, const device::CallContext &context) const override;
  /// Starts one entry after the other. A sum over entries is an error: it is computed on hosts
  /// only.
  Status run(const device::BoundEntries &entries,
             const device::CallContext &context) const override;

protected:
  /// `driver` is null for Driver::open().
  CudaRunner(device::BoundPlan plan, std::string ptx, const Driver *driver = nullptr)
      : plan(std::move(plan)), ptx(std::move(ptx)), driver(driver) {}
  Expected<std::unique_ptr<Queue>> openQueue() const override;
  /// Returns the kernels on a device. `stream` is the stream of the call that needs them.
  Expected<const LoadedModule *> moduleOn(int device, Stream stream) const;
  /// Called before the launch of a stage.
  virtual Status beforeStage(const device::BoundCall &call, size_t stage, char *first) const;
  /// Called before the clears and copies that precede the stages, and before the copies after them.
  virtual Status beforeCopies(const device::BoundCall &call, char *first) const;

private:
  Status check(const device::BoundCall &call) const;
  Status check(const device::BoundEntries &entries) const;
  Status clear(const device::BoundCall &call, char *first, const Driver &d, Stream stream) const;
  Status copyPacked(const device::BoundCall &call, char *first, bool isBefore, const Driver &d,
                    Stream stream) const;
  Status launch(const device::BoundCall &call, char *first, const LoadedModule &module,
                Stream stream) const;

  device::BoundPlan plan;
  std::string ptx;
  const Driver *driver;
  mutable std::mutex mutex;
  mutable std::map<int, std::shared_ptr<const LoadedModule>> modules;
};

} // namespace pe::cuda

#endif // PE_RUNTIME_DEVICE_CUDA_CUDARUNNER_H
