//===- ThreadPool.h - One pool for all work of the process ------*- C++ -*-===//
//
// parallelFor(items, body) runs body(0) ... body(items - 1), in any order on any thread, and
// returns when all have finished. Three properties matter more than any compiler optimization
// (docs/numerics.md has the measurements):
//  - the caller works too and then waits for finished ITEMS, never for idle workers: a worker that
//    the system has not scheduled delays nobody;
//  - the job's generation and the next index share one 64-bit atomic, so that a late worker can
//    never take an item of the next job;
//  - workers spin briefly, then sleep on a condition variable.
// A call made from inside an item runs inline on its thread. Calls from several threads take turns.
//
// A host program with its own threads passes a ParallelFor (pe/Parallel.h) instead of a pool.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_DEVICE_CPU_THREADPOOL_H
#define PE_RUNTIME_DEVICE_CPU_THREADPOOL_H

#include "pe/Parallel.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace pe::cpu {

/// The number of cores this process may use, by its affinity mask and its control group's quota.
int usableCores();

class ThreadPool final : public ParallelFor {
public:
  struct Options {
    static constexpr int kMaxThreads = 1024;
    /// Including the caller; 0: usableCores(). At most kMaxThreads and what the system allows.
    int threads = 0;
    /// How many pause instructions a worker or a waiting caller spins for before it sleeps.
    int spin = 4000;
  };

  ThreadPool() : ThreadPool(Options{}) {}
  explicit ThreadPool(Options options);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// The process-wide pool, for callers without threads of their own. Never destroyed: calls may
  /// come from static destructors.
  static ThreadPool &ofProcess();

  int threads() const override { return static_cast<int>(workers.size()) + 1; }
  void run(int64_t items, Body body, void *context) override;

private:
  /// Generation in the upper half, next chunk in the lower half.
  using Ticket = uint64_t;
  static constexpr uint32_t kClosed = 0xFFFFFFFFu;

  void work();
  bool takeItems(uint32_t generation);
  void waitForItems();
  void waitForGeneration(uint32_t seen);
  void publish(int64_t items, Body body, void *context);

  const int spin;

  // The job. Written while the ticket is closed; a reader's items count only if its generation is
  // still the ticket's when it takes one.
  std::atomic<Body> jobBody{nullptr};
  std::atomic<void *> jobContext{nullptr};
  std::atomic<int64_t> jobItems{0};
  std::atomic<int64_t> jobChunk{1};

  alignas(64) std::atomic<Ticket> ticket{kClosed};
  alignas(64) std::atomic<int64_t> unfinished{0};
  alignas(64) std::atomic<int> sleepers{0};
  std::atomic<bool> callerSleeps{false};
  std::atomic<bool> stopping{false};

  std::mutex sleepMutex;
  std::condition_variable wake;
  std::condition_variable done;
  /// Held by the thread whose job is running.
  std::mutex turn;
  std::vector<std::thread> workers;
};

} // namespace pe::cpu

#endif // PE_RUNTIME_DEVICE_CPU_THREADPOOL_H
