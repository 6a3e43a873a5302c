//===- Emulator.h - GPU kernels on CPU threads ------------------*- C++ -*-===//
//
// Executes kernels that passes/ToEmulator has turned into host functions: every GPU thread of a
// CTA is a fiber; collectives of a warp and barriers are rendezvous; asynchronous copies land when
// they are waited for, not before; shared memory starts as NaN. Behaviour that hardware leaves
// undefined is an error that names the operation: accesses out of bounds, two threads that touch
// the same shared bytes without a barrier between them, lanes of a warp at different collectives,
// barriers that never complete, CTAs that all wait for others. Three orders of running the fibers
// expose order dependences; so do three orders in which the CTAs of a grid start, as many at once
// as the pool has threads, each staying resident until it finishes.
//
// Not covered: register allocation, bank conflicts, weak memory between CTAs, real clocks.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_DEVICE_EMULATOR_EMULATOR_H
#define PE_RUNTIME_DEVICE_EMULATOR_EMULATOR_H

#include "pe/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace pe::emulator {

/// The order in which the fibers of a CTA run.
enum class Order { Forward, Reverse, Random };

/// The order in which the CTAs of a grid start.
enum class Dispatch { Ascending, Descending, Random };

/// Options for every CTA started afterwards, in all threads of the process.
struct Options {
  Order order = Order::Forward;
  uint64_t seed = 1;
  Dispatch dispatch = Dispatch::Ascending;
};
void setOptions(const Options &options);

/// A region of global memory that kernels may touch.
struct Region {
  uintptr_t begin = 0;
  size_t bytes = 0;
};

/// Begins a stage of `ctas` CTAs, of which at most `residents` run at once: only `regions` may be
/// touched until endStage, which returns the first error of its CTAs.
void beginStage(std::vector<Region> regions, int64_t ctas = 1, int residents = 1);
Status endStage();

/// Counts since the process started.
struct Statistics {
  uint64_t threadSwitches = 0;
  uint64_t collectives = 0;
  uint64_t barriers = 0;
};
Statistics statistics();

/// Address of a function that emulated kernels call (pe_emu_*, pe_gpu_*), or null.
void *findSymbol(const std::string &name);
/// The same for the device library (pe_gpu_*).
void *findLibrarySymbol(const std::string &name);

} // namespace pe::emulator

#endif // PE_RUNTIME_DEVICE_EMULATOR_EMULATOR_H
