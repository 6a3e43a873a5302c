//===- Peak.h - the FMA peak of one core, measured ------------------------===//
#ifndef PE_TEST_PASSES_TOCPU_PEAK_H
#define PE_TEST_PASSES_TOCPU_PEAK_H

#include <ctime>

/// Seconds of this thread's own time: other work on the machine does not count.
inline double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

/// Floating-point operations per second of 12 independent chains of AVX2 multiply-adds.
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

#endif // PE_TEST_PASSES_TOCPU_PEAK_H
