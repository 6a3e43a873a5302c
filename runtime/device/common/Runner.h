//===- Runner.h - What runs a compiled function -----------------*- C++ -*-===//
//
// The one interface of the devices. A device does one thing: it runs a call that was bound to the
// caller's memory (BoundCall.h), on the workspace, stream and threads of a context. Calls on host
// tensors, which allocate, are a few lines on top and the same for all devices.
//
// Runners do not change after they were made; threads may share them.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_COMMON_RUNNER_H
#define PE_RUNTIME_DEVICE_COMMON_RUNNER_H

#include "pe/Parallel.h"
#include "runtime/device/common/BoundCall.h"

#include <memory>

namespace pe::device {

/// What a call is given besides its tensors.
struct CallContext {
  void *workspace = nullptr;
  int64_t workspaceBytes = 0;
  /// Of a GPU.
  void *stream = nullptr;
  int device = 0;
  /// Of devices that compute on the host; never null there.
  ParallelFor *pool = nullptr;
};

/// What a forward call on host tensors leaves behind: its results, and all that its backward calls
/// need. Arguments are used where they are and kept alive.
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
  /// In the device's memory: arguments, results, saved and prepared tensors by name.
  TensorMap tensors;
};

/// Prepared tensors that calls of one function may share: those made of parameters alone.
class Prepared {
private:
  friend class Runner;
  std::shared_ptr<const void> function; // BoundPlan::getIdentity
  SizeTable values;
  /// As they were given: kept alive, and calls must be given the same.
  TensorMap arguments;
  /// In the device's memory, by the names of their groups.
  TensorMap tensors;
};

/// Seconds of one call, without compilation and without copies between host and device.
struct CallTimes {
  double forward = 0;
  double backward = 0; // 0 without cotangents
};

class Runner {
public:
  virtual ~Runner() = default;
  virtual const BoundPlan &bound() const = 0;
  const plan::Plan &getPlan() const { return bound().getPlan(); }

  /// Runs a call that was bound to this runner's plan and whose memory was checked. Neither
  /// allocates nor waits, but on the host for the end of the work itself.
  virtual Status run(const BoundCall &call, const CallContext &context) const = 0;

  /// Binds, checks and runs a call.
  Status run(Halves halves, std::span<const View> views, const plan::Scalars &scalars,
             const CallContext &context) const;

  /// Sets type, shape and contiguous strides of the tensor that `tensor.name` names, in a call with
  /// these arguments.
  Status shapeOf(std::span<const View> arguments, View &tensor) const;

  /// Checks the arguments and runs the prepare and forward stages on host tensors. `pool` is used
  /// by devices that compute on the host.
  /// What is `prepared` is read instead of being made again.
  Expected<std::shared_ptr<const Call>> forward(const TensorMap &arguments,
                                                const plan::Scalars &scalars, ParallelFor &pool,
                                                const Prepared *prepared = nullptr) const;
  /// The prepared tensors of a call with these arguments that no tensor which calls may give with
  /// strides (q, k, v) is part of.
  Expected<std::shared_ptr<const Prepared>>
  prepare(const TensorMap &arguments, const plan::Scalars &scalars, ParallelFor &pool) const;
  /// Runs the backward and finish stages on what `call`, of this runner, kept. Absent cotangents
  /// are zero, but at least one is needed. Returns the gradients.
  Expected<TensorMap> backward(const Call &call, const TensorMap &cotangents,
                               ParallelFor &pool) const;
  /// Runs a forward call, and with cotangents a backward call, and measures them.
  Expected<CallTimes> time(const TensorMap &arguments, const plan::Scalars &scalars,
                           const TensorMap &cotangents, ParallelFor &pool) const;
  /// The sizes of a call; checks the arguments.
  Expected<plan::CallSizes> bind(const TensorMap &arguments, const plan::Scalars &scalars) const;

  /// A device's stream for calls on host tensors, and its memory. On the host there is nothing to
  /// do: tensors are where they are needed.
  class Queue {
  public:
    virtual ~Queue() = default;
    virtual void *stream() { return nullptr; }
    virtual Expected<Tensor> allocate(DType dtype, Shape shape);
    /// The tensor in the device's memory, packed; the host's is kept until the queue ends.
    virtual Expected<Tensor> upload(const Tensor &tensor) { return tensor; }
    /// A host tensor that is filled when synchronize has returned.
    virtual Expected<Tensor> download(const Tensor &tensor) { return tensor; }
    virtual Status synchronize() { return Status::success(); }
    /// Marks a place in the work, from 0 on; `seconds` lie between two of them when it is done.
    virtual Status mark();
    virtual Expected<double> seconds(size_t begin, size_t end);

  private:
    std::vector<double> marks;
  };

protected:
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
  bool isOfParameters(const PreparedGroup &group) const;
  Status checkPrepared(const Prepared &prepared, const TensorMap &arguments,
                       const SizeTable &sizes) const;
  Status prepareOthers(const Call &call, const Prepared &prepared, Queue &queue,
                       ParallelFor &pool) const;
  Status download(TensorMap &tensors, plan::Role role, Queue &queue) const;
};

} // namespace pe::device

#endif // PE_RUNTIME_DEVICE_COMMON_RUNNER_H
