//===- Peak.cpp - Peak FMA and copy rates of this machine -----------------===//

#include "runtime/device/cpu/Peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>

namespace pe::cpu {
namespace {

using Clock = std::chrono::steady_clock;

/// Defines a function that runs 12 independent chains of multiply-adds, more than the 8 that hide a
/// latency of 4 cycles at two instructions per cycle. Written in assembly to be independent of the
/// optimization level.
#define PE_DEFINE_LOOP(function, instruction, vector)                                              \
  void function(long rounds) {                                                                     \
    asm volatile("vpxor %%xmm13, %%xmm13, %%xmm13\n"                                               \
                 "vpxor %%xmm14, %%xmm14, %%xmm14\n"                                               \
                 "1:\n"                                                                            \
                 ".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n" instruction " %%" vector "13, %%" vector     \
                 "14, %%" vector "\\r\n"                                                           \
                 ".endr\n"                                                                         \
                 "dec %0\n"                                                                        \
                 "jnz 1b\n"                                                                        \
                 "vzeroupper\n"                                                                    \
                 : "+r"(rounds)                                                                    \
                 :                                                                                 \
                 : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",   \
                   "xmm9", "xmm10", "xmm11", "xmm13", "xmm14");                                    \
  }
PE_DEFINE_LOOP(runAvx2, "vfmadd231ps", "ymm")
PE_DEFINE_LOOP(runAvx512, "vfmadd231ps", "zmm")
PE_DEFINE_LOOP(runAvx512Bf16, "vdpbf16ps", "zmm")
#undef PE_DEFINE_LOOP

constexpr double kChains = 12;

double seconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// A loop of instructions with this many multiply-adds each.
struct Loop {
  void (*run)(long rounds);
  double products;
};

/// Returns the loop of a machine for products of `operands`, or one without a function.
Loop loopOf(const plan::Machine &machine, DType operands) {
  if (operands == DType::F32)
    return machine.lanes == 16 ? Loop{runAvx512, 16} : Loop{runAvx2, 8};
  const bool hasPairs = plan::findMatrixOp(machine, plan::Form::PairDot, operands);
  return hasPairs ? Loop{runAvx512Bf16, 32} : Loop{nullptr, 0};
}

/// Returns the sum of the GFLOP/s of all threads. Each thread waits for the others before its clock
/// starts, so that all run concurrently.
double measureOnce(ParallelFor &pool, const Loop &loop) {
  constexpr long kRounds = 1 << 20;
  const int threads = pool.threads();
  std::atomic<int> arrived{0};
  std::atomic<double> total{0};
  parallelFor(pool, threads, [&](int64_t) {
    // The pool may run several items on one thread, so the wait must time out.
    const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(20);
    ++arrived;
    while (arrived < threads && Clock::now() < deadline)
      pause();
    const Clock::time_point start = Clock::now();
    loop.run(kRounds);
    total +=
        kChains * loop.products * 2 * static_cast<double>(kRounds) / seconds(start, Clock::now());
  });
  return total * 1e-9;
}

} // namespace

double measureProductPeak(ParallelFor &pool, const plan::Machine *machine, DType operands,
                          int repeats) {
  if (!machine || !hostCpu().runs(*machine))
    return 0;
  const Loop loop = loopOf(*machine, operands);
  if (!loop.run)
    return 0;
  double best = 0;
  for (int i = 0; i < repeats; ++i)
    best = std::max(best, measureOnce(pool, loop));
  return best;
}

double measureCopyRate(ParallelFor &pool, int repeats) {
  constexpr size_t kBytes = size_t(128) << 20;
  const std::unique_ptr<char[]> from(new (std::nothrow) char[kBytes]),
      to(new (std::nothrow) char[kBytes]);
  if (!from || !to)
    return 0;
  const size_t part = kBytes / static_cast<size_t>(pool.threads());
  double best = 0;
  for (int i = -1; i < repeats; ++i) { // the first round only maps the pages
    const Clock::time_point start = Clock::now();
    parallelFor(pool, pool.threads(), [&](int64_t n) {
      const size_t begin = static_cast<size_t>(n) * part;
      if (i < 0)
        std::memset(from.get() + begin, 1, part);
      std::memcpy(to.get() + begin, from.get() + begin, part);
    });
    const double moved = 2.0 * static_cast<double>(part) * pool.threads();
    if (i >= 0)
      best = std::max(best, moved / seconds(start, Clock::now()));
  }
  return best;
}

} // namespace pe::cpu
