//===- DeviceCopy.h - Copies of strided views on a GPU ----------*- C++ -*-===//
//
// Views whose layout kernels cannot use are packed by 2-D copies of the driver. A view [B, H, S, D]
// with any order of the first three axes takes one copy for each pair of indices into the two
// smaller of these axes.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CUDA_DEVICECOPY_H
#define PE_RUNTIME_DEVICE_CUDA_DEVICECOPY_H

#include "pe/View.h"
#include "runtime/device/cuda/Driver.h"

namespace pe::cuda {

/// The largest number of copies per view. More would take longer than the call itself, and the
/// caller's framework has kernels to make a tensor contiguous.
inline constexpr int64_t kMostCopies = 4096;

/// Returns an error if the view needs too many copies. Called before anything is started.
Status checkCopies(const View &view);

/// Starts the copies between a view and its packed form on `stream`.
Status copyView(const Driver &driver, const View &view, DevicePointer packed, bool intoView,
                Stream stream);

} // namespace pe::cuda

#endif // PE_RUNTIME_DEVICE_CUDA_DEVICECOPY_H
