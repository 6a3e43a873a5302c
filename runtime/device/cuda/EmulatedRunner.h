//===- EmulatedRunner.h - Calls of the gpu-emulator target ------*- C++ -*-===//
//
// The target gpu-emulator is the target cuda on a driver that executes PTX on the host
// (runtime/device/ptx), with tensors in host memory: the same PTX, plans, launches and clears. Each
// kernel may access the buffers of its stage only.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CUDA_EMULATEDRUNNER_H
#define PE_RUNTIME_DEVICE_CUDA_EMULATEDRUNNER_H

#include "runtime/device/common/HostMemory.h"
#include "runtime/device/cuda/CudaRunner.h"

namespace pe::cuda {

class EmulatedRunner final : public CudaRunner {
public:
  /// Loads the kernels on a device of the chip that they were compiled for.
  static Expected<std::shared_ptr<const EmulatedRunner>>
  create(plan::Plan plan, const std::string &ptx, device::HostOptions options = {});

  using Runner::run;
  /// Runs the call and waits for it. Calls of several threads take turns. The first fault of a
  /// kernel is the error of the call; later calls are not affected.
  Status run(const device::BoundCall &call, const device::CallContext &context) const override;
  /// Runs one entry after the other and completes the gradients on the host.
  Status run(const device::BoundEntries &entries,
             const device::CallContext &context) const override;

protected:
  Expected<std::unique_ptr<Queue>> openQueue() const override;
  Status beforeStage(const device::BoundCall &call, size_t stage, char *first) const override;
  Status beforeCopies(const device::BoundCall &call, char *first) const override;

private:
  class Registration;
  EmulatedRunner(device::BoundPlan plan, std::string ptx, const Driver &driver,
                 device::HostOptions options);

  const Driver &driver;
  const device::HostOptions options;
  int chip = 80;
};

} // namespace pe::cuda

#endif // PE_RUNTIME_DEVICE_CUDA_EMULATEDRUNNER_H
