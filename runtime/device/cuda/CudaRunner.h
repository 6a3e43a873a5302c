//===- CudaRunner.h - Host tensors through a GPU ----------------*- C++ -*-===//

#ifndef PE_RUNTIME_DEVICE_CUDA_CUDARUNNER_H
#define PE_RUNTIME_DEVICE_CUDA_CUDARUNNER_H

#include "runtime/device/common/Runner.h"
#include "runtime/device/cuda/Session.h"

namespace pe::cuda {

/// Copies tensors to the device, runs a call on a stream of its own and copies the results back.
/// For tensors that are on the device already, see createSession.
class CudaRunner : public device::Runner {
public:
  static Expected<std::shared_ptr<const CudaRunner>> create(plan::Plan plan, const std::string &ptx,
                                                            int device = 0);

  const plan::Plan &getPlan() const override { return plan.getPlan(); }
  Expected<plan::CallSizes> bind(const TensorMap &arguments,
                                 const plan::Scalars &scalars) const override {
    Expected<plan::Frame> frame = plan.bind(arguments, scalars);
    if (!frame)
      return frame.takeError();
    return plan.getLayout().sizesOf(*frame);
  }
  Expected<std::shared_ptr<const device::Call>> forward(const TensorMap &arguments,
                                                        const plan::Scalars &scalars,
                                                        ParallelFor &pool) const override;
  Expected<TensorMap> backward(const device::Call &call, const TensorMap &cotangents,
                               ParallelFor &pool) const override;
  /// Device time between events, without copies.
  Expected<device::CallTimes> time(const TensorMap &arguments, const plan::Scalars &scalars,
                                   const TensorMap &cotangents, ParallelFor &pool) const override;

  Expected<std::unique_ptr<Session>> createSession(const plan::CallSizes &sizes, bool grad) const {
    Expected<plan::Frame> frame = plan.frameOf(sizes);
    if (!frame)
      return frame.takeError();
    return createSession(*frame, grad);
  }
  Expected<std::unique_ptr<Session>> createSession(const plan::Frame &frame, bool grad) const {
    return Session::create(plan, module, frame, grad);
  }
  const Device &getDevice() const { return *module->device; }

private:
  CudaRunner(device::BoundPlan plan, std::shared_ptr<const LoadedModule> module)
      : plan(std::move(plan)), module(std::move(module)) {}

  device::BoundPlan plan;
  std::shared_ptr<const LoadedModule> module;
};

} // namespace pe::cuda

#endif // PE_RUNTIME_DEVICE_CUDA_CUDARUNNER_H
