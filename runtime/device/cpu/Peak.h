//===- Peak.h - The multiply-add peak of this machine -----------*- C++ -*-===//
//
// The peak rate that `--time` divides by: independent fused multiply-adds on the same threads in
// the same process. Clock rates drift by 10 % between runs, so it is measured next to the kernel.
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

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_PEAK_H
