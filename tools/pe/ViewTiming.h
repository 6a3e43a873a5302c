//===- ViewTiming.h - Timing of calls on views ---===//
#ifndef PE_TOOLS_PE_VIEWTIMING_H
#define PE_TOOLS_PE_VIEWTIMING_H

#include "runtime/device/common/Runner.h"

namespace pe::cli {

/// The times of the same calls with all tensors of rank 4 as contiguous [B, H, S, D] tensors, and
/// as [B, H, S, D] views of [B, S, H, D] memory.
struct ViewTiming {
  device::CallTimes contiguous, views; // medians
  /// True if all results and gradients are bitwise equal.
  bool isEqual = true;
};

/// Times both layouts alternately, after a first call of each. `inputs` are arguments and
/// cotangents.
Expected<ViewTiming> timeViews(const device::Runner &runner, const TensorMap &inputs,
                               ParallelFor &pool, int repeats);

} // namespace pe::cli

#endif // PE_TOOLS_PE_VIEWTIMING_H
