//===- ViewTiming.h - calls on views, timed against contiguous tensors ---===//
#ifndef PE_TOOLS_PE_VIEWTIMING_H
#define PE_TOOLS_PE_VIEWTIMING_H

#include "runtime/device/common/Runner.h"

namespace pe::cli {

/// The same calls with all tensors of rank 4 as contiguous [B, H, S, D], and as [B, H, S, D] views
/// of [B, S, H, D] memory.
struct ViewTiming {
  device::CallTimes contiguous, views; // medians
  /// Whether every result and gradient has the same bits both ways.
  bool isEqual = true;
};

/// `inputs`: arguments and cotangents. Both layouts are timed alternately, after a first call of
/// each.
Expected<ViewTiming> timeViews(const device::Runner &runner, const TensorMap &inputs,
                               ParallelFor &pool, int repeats);

} // namespace pe::cli

#endif // PE_TOOLS_PE_VIEWTIMING_H
