//===- Peak.h - measures the FMA peak of one core -------------------------===//
#ifndef PE_TEST_PASSES_TOCPU_PEAK_H
#define PE_TEST_PASSES_TOCPU_PEAK_H

#include <ctime>

/// Returns the CPU time of this thread in seconds, which excludes other work on the machine.
inline double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

/// Returns the floating-point operations per second of 12 independent chains of AVX2 multiply-adds.
inline double peakFlops() {
  constexpr long kRounds = 100000;
  double begin = now();
  asm volatile("mov %0, %%rcx\n"
               "vxorps %%ymm14, %%ymm14, %%ymm14\n"
               "vxorps %%ymm15, %%ymm15, %%ymm15\n"
               "1:\n"
               ".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n"
               "vfmadd231ps %%ymm14, %%ymm15, %%ymm\\r\n"
               ".endr\n"
               "dec %%rcx\n"
               "jnz 1b\n" ::"r"(kRounds)
               : "rcx", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                 "xmm9", "xmm10", "xmm11", "xmm14", "xmm15");
  return kRounds * 12.0 * 16.0 / (now() - begin);
}

/// Returns the share of `peak` that a plain loop of 12 multiply-adds, 7 loads and a counter
/// reaches: about 0.95 if the core's other hardware thread is idle, about 0.75 if it is busy. It
/// classifies a measurement as one of the two.
__attribute__((target("avx2,fma"), noinline)) inline double coreShare(double peak) {
  constexpr long kRounds = 300, kSteps = 64;
  alignas(64) static float vectors[kSteps * 24], scalars[kSteps * 4];
  double begin = now();
  for (long round = 0; round < kRounds; ++round) {
    const float *v = vectors, *s = scalars;
    long steps = kSteps;
    asm volatile("1:\n"
                 "vmovups (%0), %%ymm12\n vmovups 32(%0), %%ymm13\n vmovups 64(%0), %%ymm14\n"
                 "vbroadcastss (%1), %%ymm15\n vfmadd231ps %%ymm12, %%ymm15, %%ymm0\n"
                 "vfmadd231ps %%ymm13, %%ymm15, %%ymm1\n vfmadd231ps %%ymm14, %%ymm15, %%ymm2\n"
                 "vbroadcastss 4(%1), %%ymm15\n vfmadd231ps %%ymm12, %%ymm15, %%ymm3\n"
                 "vfmadd231ps %%ymm13, %%ymm15, %%ymm4\n vfmadd231ps %%ymm14, %%ymm15, %%ymm5\n"
                 "vbroadcastss 8(%1), %%ymm15\n vfmadd231ps %%ymm12, %%ymm15, %%ymm6\n"
                 "vfmadd231ps %%ymm13, %%ymm15, %%ymm7\n vfmadd231ps %%ymm14, %%ymm15, %%ymm8\n"
                 "vbroadcastss 12(%1), %%ymm15\n vfmadd231ps %%ymm12, %%ymm15, %%ymm9\n"
                 "vfmadd231ps %%ymm13, %%ymm15, %%ymm10\n vfmadd231ps %%ymm14, %%ymm15, %%ymm11\n"
                 "add $96, %0\n add $16, %1\n dec %2\n jnz 1b\n"
                 : "+r"(v), "+r"(s), "+r"(steps)::"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
                   "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                   "xmm15", "memory");
  }
  return kRounds * kSteps * 12.0 * 16.0 / (now() - begin) / peak;
}

#endif // PE_TEST_PASSES_TOCPU_PEAK_H
