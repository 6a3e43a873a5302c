//===- PtxDriver.h - The functions of libcuda on the PTX machine -*- C++ -*-===//
//
// A driver whose one device executes PTX on the host (runtime/ptx). Device memory is host memory.
// The work of a stream runs in order when the stream is synchronized, so that code that relies on
// it earlier fails; the null stream runs at once. A fault of a kernel is the error of the next
// synchronization, and errorText returns it with its PTX line.
//
// $PE_PTX sets the device and the schedule: "chip=80,seed=7,ctas=4,limit=1000000".
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CUDA_PTXDRIVER_H
#define PE_RUNTIME_DEVICE_CUDA_PTXDRIVER_H

#include "runtime/device/cuda/Driver.h"

namespace pe::cuda {

/// Returns the functions of the driver.
Driver ptxDriver();

} // namespace pe::cuda

#endif // PE_RUNTIME_DEVICE_CUDA_PTXDRIVER_H
