//===- Peak.h - Peak FMA and copy rates of this machine ---------*- C++ -*-===//
//
// Measures the two limits of a roofline: the rate of independent fused multiply-adds, by which
// `--time` divides, and the rate of memory copies. Clock rates drift by 10 % between runs, so the
// peak is measured right next to the kernel, in the same process and on the same threads.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CPU_PEAK_H
#define PE_RUNTIME_DEVICE_CPU_PEAK_H

#include "pe/Parallel.h"
#include "runtime/device/cpu/CpuInfo.h"

namespace pe::cpu {

/// Returns the GFLOP/s of products of `operands` with the vectors of a CPU on all threads of `pool`
/// at once: of FMAs in f32, or of vdpbf16ps for bf16. It is the best of `repeats` rounds of about
/// 10 ms each, or 0 if `machine` is null, has no such products, or is not the host.
double measureProductPeak(ParallelFor &pool, const plan::Machine *machine,
                          DType operands = DType::F32, int repeats = 5);

/// Returns the bytes per second, read plus written, of copies larger than all caches on all threads
/// of `pool`: the best of `repeats` rounds, or 0 if the buffers cannot be allocated.
double measureCopyRate(ParallelFor &pool, int repeats = 5);

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_PEAK_H
