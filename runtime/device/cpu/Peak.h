//===- Peak.h - The multiply-add peak of this machine -----------*- C++ -*-===//
//
// The peak rate that `--time` divides by: independent fused multiply-adds on the same threads in
// the same process. Clock rates drift by 10 % between runs, so it is measured next to the kernel.
// And the rate of copies, the other limit of a roofline.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CPU_PEAK_H
#define PE_RUNTIME_DEVICE_CPU_PEAK_H

#include "pe/Parallel.h"
#include "runtime/device/cpu/CpuInfo.h"

namespace pe::cpu {

/// GFLOP/s of fp32 FMAs with the widest vectors of `level` on all threads of `pool` at once, best
/// of `repeats` rounds of about 10 ms each; 0 if this machine lacks the level.
double measureFmaPeak(ParallelFor &pool, Level level, int repeats = 5);

/// Bytes per second, those read and those written, of copies beyond every cache on all threads of
/// `pool`, best of `repeats`; 0 if there is no memory for it.
double measureCopyRate(ParallelFor &pool, int repeats = 5);

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_PEAK_H
