//===- Runner.h - What runs a compiled function -----------------*- C++ -*-===//
//
// The one interface of the devices: host tensors in, host tensors out. Runners do not change after
// they were made; threads may share them.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_COMMON_RUNNER_H
#define PE_RUNTIME_DEVICE_COMMON_RUNNER_H

#include "pe/Parallel.h"
#include "runtime/core/Tensor.h"
#include "runtime/plan/Plan.h"

#include <memory>

namespace pe::device {

/// What a forward call leaves behind: its results, and all that its backward calls need.
class Call {
public:
  virtual ~Call() = default;
  virtual const TensorMap &results() const = 0;
  /// The function that made the call (BoundPlan::getIdentity).
  std::shared_ptr<const void> function;
};

/// Seconds of one call, without compilation and without copies between host and device.
struct CallTimes {
  double forward = 0;
  double backward = 0; // 0 without cotangents
};

class Runner {
public:
  virtual ~Runner() = default;
  virtual const plan::Plan &getPlan() const = 0;
  /// Checks the arguments and runs the prepare and forward stages. `pool` is used by devices that
  /// compute on the host.
  virtual Expected<std::shared_ptr<const Call>>
  forward(const TensorMap &arguments, const plan::Scalars &scalars, ParallelFor &pool) const = 0;
  /// Runs the backward and finish stages on what `call`, of this runner, kept. Absent cotangents
  /// are zero, but at least one is needed. Returns the gradients.
  virtual Expected<TensorMap> backward(const Call &call, const TensorMap &cotangents,
                                       ParallelFor &pool) const = 0;
  /// Runs a forward call, and with cotangents a backward call, and measures them.
  virtual Expected<CallTimes> time(const TensorMap &arguments, const plan::Scalars &scalars,
                                   const TensorMap &cotangents, ParallelFor &pool) const;
  /// The sizes and the place of a call of attention; checks the arguments.
  virtual Expected<plan::CallSizes> bind(const TensorMap &arguments,
                                         const plan::Scalars &scalars) const = 0;
};

} // namespace pe::device

#endif // PE_RUNTIME_DEVICE_COMMON_RUNNER_H
