//===- Launch.h - The arguments of a launch ---------------------*- C++ -*-===//
#ifndef PE_RUNTIME_PTX_LAUNCH_H
#define PE_RUNTIME_PTX_LAUNCH_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pe::ptx {

/// The order of execution, and the liberties that a launch takes with memory.
struct Schedule {
  enum class Order { Forward, Reverse, Random };
  /// Forward and Reverse run each warp until it waits; Random switches after a random number of
  /// instructions.
  Order order = Order::Random;
  uint64_t seed = 1;
  unsigned ctasInFlight = 16;
  /// An asynchronous copy lands when it is issued; otherwise when it is waited for.
  bool copiesLandAtOnce = false;
  /// A CTA keeps the sectors of global memory that it has read, as a level-1 cache does, and loads
  /// that are neither volatile nor relaxed may return them until an acquire.
  bool loadsMayBeStale = true;
  /// The number of times that an acquire or relaxed load of a location returns its value before the
  /// latest release, for each CTA.
  unsigned lateReleases = 2;

  /// Returns a schedule in which the seed has chosen all of the above.
  static Schedule fromSeed(uint64_t seed);
};

/// Executions of one line, and what they cost.
struct LineCounts {
  int line = 0;
  uint64_t executions = 0;     // warp instructions
  std::vector<uint64_t> warps; // the executions of each warp of the CTAs
  uint64_t wavefronts = 0;     // of shared memory
  uint64_t leastWavefronts = 0;
  uint64_t sectors = 0; // of 32 bytes of global memory
  uint64_t leastSectors = 0;
};

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// The arguments of a launch.
struct Launch {
  Extent grid, block;
  uint32_t dynamicShared = 0;
  std::vector<std::vector<std::byte>> parameters; // by number, of the sizes that the kernel states
  Schedule schedule;
  /// The greatest number of warp instructions; 0: no limit.
  uint64_t limit = 0;
  /// Warp instructions of the grid without any write or finished wait, after which warps that all
  /// poll are reported as waiting for each other; a thousand times as many if some do not poll.
  uint64_t patience = 4'000'000;
  bool countsAccesses = false;

  template <typename T> void setParameter(size_t number, T value) {
    if (parameters.size() <= number)
      parameters.resize(number + 1);
    const auto *bytes = reinterpret_cast<const std::byte *>(&value);
    parameters[number].assign(bytes, bytes + sizeof(T));
  }
};

/// The resources of a chip that a launch must fit.
struct Limits {
  uint32_t threadsPerBlock = 1024;
  uint32_t sharedPerBlock = 227 * 1024;
  uint32_t multiprocessors = 4;
};

} // namespace pe::ptx

#endif // PE_RUNTIME_PTX_LAUNCH_H
