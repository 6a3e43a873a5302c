//===- Block.h - One CTA, its threads as fibers ---------------*- C++ -*-===//
//
// The internals of the emulator: a Block
// runs one CTA at a time on one host thread.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_DEVICE_EMULATOR_BLOCK_H
#define PE_RUNTIME_DEVICE_EMULATOR_BLOCK_H

#include "runtime/device/emulator/Collectives.h"
#include "runtime/device/emulator/Emulator.h"
#include "runtime/device/emulator/SharedShadow.h"

#include <atomic>
#include <mutex>
#include <random>

namespace pe::emulator {

/// What every thread of a kernel runs.
using Body = void (*)(void *const *buffers, const int64_t *sizes);

/// What all CTAs of the process share.
struct Shared {
  /// Something happened that another CTA may be waiting for.
  void progress() {
    std::lock_guard lock(mutex);
    ++epoch;
    waiting = 0;
  }

  std::mutex mutex;
  Options options;
  std::vector<Region> regions;
  std::string error;
  std::atomic<bool> failed{false};
  /// The stage's CTAs, how many may run at once, how many have started and are running now, and the
  /// place of a CTA in the grid by the index of its item.
  int64_t ctas = 1, residents = 1, started = 0, running = 0;
  std::vector<int64_t> places;
  /// Counts progress events, and how many CTAs have polled in vain since the last one.
  std::atomic<uint64_t> epoch{1};
  int64_t waiting = 0;
  std::atomic<uint64_t> switches{0}, collectives{0}, barriers{0};
};

Shared &shared();

enum class State : uint8_t { Ready, Spinning, AtCollective, AtBarrier, Done };

/// A copy of `size` bytes, of which the last size - bytes are zeros.
struct Copy {
  char *to;
  const char *from;
  int32_t size, bytes;
  const char *where;
};

struct Fiber {
  void *stack = nullptr;
  State state = State::Ready;
  int thread = 0;
  const char *where = "";
  /// How many fences it has executed, and how many barriers it had passed at the last one.
  int64_t fences = 0, fenceBarriers = -1;
  std::vector<Copy> open;
  std::vector<std::vector<Copy>> groups;
};

struct Warp {
  Frames frames;
  uint32_t arrived = 0;
  Collective what = Collective::SyncWarp;
  int32_t detail = 0;
  uint32_t syncs = 0;
};

/// Runs one CTA at a time, on one host thread.
class Block {
public:
  Block() = default;
  Block(const Block &) = delete;
  ~Block();

  void run(Body body, void *const *buffers, const int64_t *sizes, int64_t item, int threads,
           int64_t sharedBytes);

  // Called by fibers.
  void collective(Collective what, int32_t detail, uint64_t *frame, const char *where);
  void barrier(const char *where);
  void access(const void *address, int64_t bytes, bool isWrite, bool isShared, const char *where);
  void copyAsync(const Copy &copy);
  void commitCopies() {
    current->groups.push_back(std::move(current->open));
    current->open.clear();
  }
  void waitForCopies(int32_t groupsLeft);
  void spin(const char *where);
  /// A turn at data that CTAs share: one thread acquires (atomic loads), a barrier, all threads
  /// work and fence, a barrier, one thread releases (atomic store). These check the barriers.
  void acquire();
  void fence(const char *where);
  void checkRelease(const char *where);
  [[noreturn]] void fail(const std::string &message, const char *where);

  Fiber *current = nullptr;
  int64_t item = 0;
  std::vector<char> memory; // shared memory of the CTA

private:
  static void enter();
  /// Makes room for the stacks of so many threads; false without memory.
  bool hasStacks(size_t count);
  void prepare(int count);
  void toScheduler();
  void begin(int64_t cta);
  void end();
  void report(const std::string &message);
  void checkOthers(uint64_t seen);
  bool runFibers();
  bool runWarp(int warp);
  void land(std::vector<Copy> &copies);
  Moment now() const { return {current->thread, barriers, warps[current->thread / kWarp].syncs}; }
  std::string whereTheyWait() const;

  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  std::vector<int> warpOrder, laneOrder;
  SharedShadow shadow;
  std::mt19937_64 random;
  Options options;
  char *stacks = nullptr;
  size_t stackCount = 0;
  void *scheduler = nullptr;
  Body body = nullptr;
  void *const *buffers = nullptr;
  const int64_t *sizes = nullptr;
  int alive = 0, atBarrier = 0;
  int64_t acquiredTurn = 0, acquireBarriers = 0;
  uint64_t waitedAt = 0; // the epoch in which this CTA last counted as waiting
  uint32_t barriers = 0;
  bool hasFailed = false;
  uint64_t switches = 0, collectives = 0;
};

/// The Block of this host thread.
Block &blockOfThread();

} // namespace pe::emulator

#endif // PE_RUNTIME_DEVICE_EMULATOR_BLOCK_H
