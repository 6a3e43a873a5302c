//===- Runner.cpp - What runs a compiled function -------------------------===//

#include "runtime/device/common/Runner.h"

#include <chrono>

namespace pe::device {

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Expected<CallTimes> Runner::time(const TensorMap &arguments, const plan::Scalars &scalars,
                                 const TensorMap &cotangents, ParallelFor &pool) const {
  CallTimes times;
  const double begin = now();
  auto call = forward(arguments, scalars, pool);
  const double middle = now();
  if (!call)
    return call.takeError();
  times.forward = middle - begin;
  if (cotangents.empty())
    return times;
  auto gradients = backward(**call, cotangents, pool);
  times.backward = now() - middle;
  if (!gradients)
    return gradients.takeError();
  return times;
}

} // namespace pe::device
