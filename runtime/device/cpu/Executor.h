//===- Executor.h - Runs a plan on the CPU ----------------------*- C++ -*-===//
//
// Binds a plan to its compiled code and runs calls: checks the arguments against the plan's
// symbolic shapes, allocates results, residuals and temporaries from their size expressions, and
// runs the stages in order, each over its work items on a pool. It knows nothing of attention.
//
// An Executor does not change after it was made; threads may share it.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CPU_EXECUTOR_H
#define PE_RUNTIME_DEVICE_CPU_EXECUTOR_H

#include "runtime/device/common/BoundPlan.h"
#include "runtime/device/common/Runner.h"

#include <functional>
#include <memory>

namespace pe::cpu {

/// A compiled stage (runtime/plan/Plan.h).
using StageFunction = void (*)(void *const *buffers, const int64_t *frame, int64_t item);
/// Finds a stage by its symbol; null if there is none.
using SymbolLookup = std::function<void *(const std::string &)>;

/// What a forward call leaves behind: its results, and all the backward call needs.
class ForwardCall : public device::Call {
public:
  const TensorMap &results() const override { return outputs; }

private:
  friend class Executor;
  plan::Frame frame;
  TensorMap outputs;
  /// One per buffer of the plan; undefined where the forward call keeps none.
  std::vector<Tensor> buffers;
};

/// Stands around every stage of a call: another device that executes stages on the host.
class StageGuard {
public:
  virtual ~StageGuard() = default;
  /// The stage's buffers are known and none of its items has begun; at most `threads` of them run
  /// at once.
  virtual void begin(const plan::Stage &stage, const std::vector<const Tensor *> &buffers,
                     int64_t items, int threads) = 0;
  /// All its items have ended; an error ends the call.
  virtual Status end(const plan::Stage &stage) = 0;
};

class Executor {
public:
  struct Options {
    /// Fills fresh buffers with NaN first, so that what no stage wrote cannot look right.
    bool poison = false;
    std::shared_ptr<StageGuard> guard = nullptr;
  };

  /// `code` is kept alive as long as the executor.
  static Expected<Executor> create(plan::Plan plan, const SymbolLookup &lookup,
                                   std::shared_ptr<void> code, Options options);
  static Expected<Executor> create(plan::Plan plan, const SymbolLookup &lookup,
                                   std::shared_ptr<void> code) {
    return create(std::move(plan), lookup, std::move(code), Options{});
  }

  const plan::Plan &getPlan() const { return plan.getPlan(); }

  /// Checks the arguments (missing, extra, mis-typed, mis-shaped) and fills the call's frame.
  Expected<plan::Frame> bind(const TensorMap &arguments, const plan::Scalars &scalars) const {
    return plan.bind(arguments, scalars);
  }
  /// What is known of attention in a frame.
  plan::CallSizes sizesOf(const plan::Frame &frame) const {
    return plan.getLayout().sizesOf(frame);
  }

  /// Runs the prepare and forward stages.
  Expected<ForwardCall> forward(const TensorMap &arguments, const plan::Scalars &scalars,
                                ParallelFor &pool) const;

  /// Runs the backward and finish stages on what `call` kept; absent cotangents are zero, but at
  /// least one is needed. Returns the gradients.
  Expected<TensorMap> backward(const ForwardCall &call, const TensorMap &cotangents,
                               ParallelFor &pool) const;

  /// Checks that this executor, or a copy of it, made the call.
  Status checkCall(const device::Call &call) const { return plan.checkCall(call); }

  /// The shape of buffer `index` in a call.
  Expected<Shape> shapeOf(size_t index, const plan::Frame &frame) const {
    return plan.shapeOf(index, frame);
  }

private:
  Executor() = default;
  Tensor adopt(size_t index, const Tensor &tensor, plan::Frame &frame) const;
  Expected<Tensor> allocate(size_t index, const plan::Frame &frame, bool zero,
                            ParallelFor &pool) const;
  Status runStages(device::Half half, const plan::Frame &frame, std::vector<Tensor> &buffers,
                   ParallelFor &pool) const;

  device::BoundPlan plan;
  std::vector<StageFunction> stages;
  std::shared_ptr<void> code;
  Options options;
};

/// The executor behind the interface of all devices.
class CpuRunner : public device::Runner {
public:
  explicit CpuRunner(Executor executor) : executor(std::move(executor)) {}

  const plan::Plan &getPlan() const override { return executor.getPlan(); }
  Expected<std::shared_ptr<const device::Call>> forward(const TensorMap &arguments,
                                                        const plan::Scalars &scalars,
                                                        ParallelFor &pool) const override;
  Expected<TensorMap> backward(const device::Call &call, const TensorMap &cotangents,
                               ParallelFor &pool) const override;
  Expected<plan::CallSizes> bind(const TensorMap &arguments,
                                 const plan::Scalars &scalars) const override {
    Expected<plan::Frame> frame = executor.bind(arguments, scalars);
    if (!frame)
      return frame.takeError();
    return executor.sizesOf(*frame);
  }

private:
  Executor executor;
};

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_EXECUTOR_H
