//===- Runner.h - The interface of devices ----------------------*- C++ -*-===//
//
// The interface that every device implements. A device runs a call that was bound to the caller's
// memory (BoundCall.h), on the workspace, stream and threads of a context. Calls on host tensors,
// which allocate, are implemented on top of it once for all devices.
//
// Runners are immutable; threads may share them.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_COMMON_RUNNER_H
#define PE_RUNTIME_DEVICE_COMMON_RUNNER_H

#include "pe/Parallel.h"
#include "runtime/device/common/BoundEntries.h"

#include <memory>

namespace pe::device {

/// The resources of a call other than its tensors.
struct CallContext {
  void *workspace = nullptr;
  int64_t workspaceBytes = 0;
  /// Used by GPUs only.
  void *stream = nullptr;
  int device = 0;
  /// Used by host devices only, which require it.
  ParallelFor *pool = nullptr;
};

/// The state of a forward call on host tensors: its results, and everything that its backward calls
/// read. Arguments are not copied and are kept alive.
class Call {
public:
  const TensorMap &results() const { return outputs; }
  const plan::CallSizes &sizes() const { return callSizes; }

private:
  friend class Runner;
  /// The function that made the call (BoundPlan::getIdentity).
  std::shared_ptr<const void> function;
  plan::CallSizes callSizes;
  SizeTable values;
  plan::Scalars scalars;
  TensorMap outputs;
  /// Arguments, results, saved and prepared tensors by name, in device memory.
  TensorMap tensors;
};

/// Prepared tensors that depend only on parameters, so that calls of one function may share them.
class Prepared {
private:
  friend class Runner;
  std::shared_ptr<const void> function; // BoundPlan::getIdentity
  SizeTable values;
  /// The arguments that the tensors were computed from. Calls must pass the same ones.
  TensorMap arguments;
  /// The tensors in device memory, by the names of their groups.
  TensorMap tensors;
};

/// Seconds of one call, excluding compilation and copies between host and device.
struct CallTimes {
  double forward = 0;
  double backward = 0; // 0 without cotangents
};

class Runner {
public:
  virtual ~Runner() = default;
  virtual const BoundPlan &bound() const = 0;
  const plan::Plan &getPlan() const { return bound().getPlan(); }

  /// Runs a call that was bound to this runner's plan and whose memory was checked. Does not
  /// allocate. GPUs return without waiting for the work; host devices return when it is done.
  virtual Status run(const BoundCall &call, const CallContext &context) const = 0;
  /// Same, for a call with lengths per batch entry. The default implementation, for host devices,
  /// runs one entry after the other.
  virtual Status run(const BoundEntries &entries, const CallContext &context) const;

  /// Binds, checks and runs a call. Only a call with lengths allocates.
  Status run(Halves halves, std::span<const View> views, const plan::Scalars &scalars,
             const CallContext &context) const;
  /// Returns the bytes of workspace of a call (BoundCall::measure, BoundEntries::measure).
  Expected<int64_t> workspace(Halves halves, std::span<const View> views) const;

  /// Sets the type, shape and contiguous strides of the tensor called `tensor.name` in a call with
  /// these arguments.
  Status shapeOf(std::span<const View> arguments, View &tensor) const;

  /// Checks the arguments and runs the prepare and forward stages on host tensors. Host devices run
  /// them on `pool`. Tensors in `prepared` are not computed again.
  Expected<std::shared_ptr<const Call>> forward(const TensorMap &arguments,
                                                const plan::Scalars &scalars, ParallelFor &pool,
                                                const Prepared *prepared = nullptr) const;
  /// Computes the prepared tensors of a call with these arguments, except those that depend on a
  /// tensor with strides in the frame (q, k, v).
  Expected<std::shared_ptr<const Prepared>>
  prepare(const TensorMap &arguments, const plan::Scalars &scalars, ParallelFor &pool) const;
  /// Runs the backward and finish stages on the tensors of `call`, which this runner made. Absent
  /// cotangents are zero, but at least one is required. Returns the gradients.
  Expected<TensorMap> backward(const Call &call, const TensorMap &cotangents,
                               ParallelFor &pool) const;
  /// Measures a forward call and, if there are cotangents, a backward call.
  Expected<CallTimes> time(const TensorMap &arguments, const plan::Scalars &scalars,
                           const TensorMap &cotangents, ParallelFor &pool) const;
  /// Checks the arguments and returns the sizes of the call.
  Expected<plan::CallSizes> bind(const TensorMap &arguments, const plan::Scalars &scalars) const;

  /// A stream and memory of a device, for calls on host tensors. The default implementation is for
  /// host devices, which need no copies.
  class Queue {
  public:
    virtual ~Queue() = default;
    virtual void *stream() { return nullptr; }
    virtual Expected<Tensor> allocate(DType dtype, Shape shape);
    /// Returns a packed copy in device memory. The queue keeps the host tensor alive.
    virtual Expected<Tensor> upload(const Tensor &tensor) { return tensor; }
    /// Returns a host tensor whose contents are valid after `synchronize`.
    virtual Expected<Tensor> download(const Tensor &tensor) { return tensor; }
    virtual Status synchronize() { return Status::success(); }
    /// Records a time mark in the stream. Marks are numbered from 0.
    virtual Status mark();
    /// Returns the seconds between two marks. Call it after `synchronize`.
    virtual Expected<double> seconds(size_t begin, size_t end);

  private:
    std::vector<double> marks;
  };

protected:
  /// Runs the entries one after the other.
  Status runEntries(const BoundEntries &entries, const CallContext &context) const;
  virtual Expected<std::unique_ptr<Queue>> openQueue() const { return std::make_unique<Queue>(); }

private:
  struct Request;
  Status finish(Request &request, TensorMap &found, plan::Role role, Queue &queue) const;
  Expected<std::shared_ptr<Call>> start(const TensorMap &arguments, const plan::Scalars &scalars,
                                        const Prepared *prepared, Queue &queue) const;
  Expected<TensorMap> startBackward(const Call &call, const TensorMap &cotangents, Queue &queue,
                                    ParallelFor &pool) const;
  Status findSizes(const TensorMap &arguments, const plan::Scalars &scalars, plan::CallSizes &sizes,
                   SizeTable &values) const;
  bool isLeftOut(const plan::Buffer &gradient, const SizeTable &sizes) const;
  Status allocateFor(const SizeTable &sizes, Halves half, TensorMap &tensors, Queue &queue) const;
  Status allocateGroup(size_t group, const SizeTable &sizes, TensorMap &tensors,
                       Queue &queue) const;
  Status shapeIn(const TensorMap &call, size_t index, const SizeTable &sizes, Extents &shape) const;
  bool isOfParameters(const PreparedGroup &group) const;
  Status checkPrepared(const Prepared &prepared, const TensorMap &arguments,
                       const SizeTable &sizes) const;
  Status prepareOthers(const Call &call, const Prepared &prepared, Queue &queue,
                       ParallelFor &pool) const;
  Status download(TensorMap &tensors, plan::Role role, Queue &queue) const;
};

} // namespace pe::device

#endif // PE_RUNTIME_DEVICE_COMMON_RUNNER_H
