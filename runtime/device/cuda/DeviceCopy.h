//===- DeviceCopy.h - Copies of strided views on a GPU ----------*- C++ -*-===//
//
// Views that kernels cannot take as they lie are packed by the driver's copies of rows: of a view
// [B, H, S, D] with any order of the first three axes, one for each pair of the two smaller ones.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CUDA_DEVICECOPY_H
#define PE_RUNTIME_DEVICE_CUDA_DEVICECOPY_H

#include "pe/View.h"
#include "runtime/device/cuda/Driver.h"

namespace pe::cuda {

/// More copies than these take longer than any call; the caller's framework has kernels for it.
inline constexpr int64_t kMostCopies = 4096;

/// An error, before anything is started, for a view that takes too many copies.
Status checkCopies(const View &view);

/// Starts the copies between a view and its packed form.
Status copyView(const Driver &driver, const View &view, DevicePointer packed, bool intoView,
                Stream stream);

} // namespace pe::cuda

#endif // PE_RUNTIME_DEVICE_CUDA_DEVICECOPY_H
