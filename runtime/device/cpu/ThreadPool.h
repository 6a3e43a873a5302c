//===- ThreadPool.h - The thread pool of the process ------------*- C++ -*-===//
//
// parallelFor(items, body) runs body(0) ... body(items - 1), in any order on any thread, and
// returns when all have finished. Three properties matter more than any compiler optimization
// (docs/numerics.md has the measurements):
//  - the caller runs items itself and then waits for unfinished items, not for workers, so a worker
//    that the system has not scheduled causes no delay;
//  - the generation of the job and the index of the next item share one 64-bit atomic, so a late
//    worker cannot take an item of the next job;
//  - workers spin briefly, then sleep on a condition variable.
// A call from inside an item runs inline on its thread. Calls from several threads are serialized.
//
// An application with its own threads passes a ParallelFor (pe/Parallel.h) instead of a pool.
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

class ThreadPool final : public ParallelFor {
public:
  struct Options {
    static constexpr int kMaxThreads = 1024;
    /// The number of threads including the caller, or 0 for usableCores(). Limited by kMaxThreads
    /// and by the system.
    int threads = 0;
    /// The number of pause instructions that an idle worker or caller executes before it sleeps.
    int spin = 4000;
  };

  ThreadPool() : ThreadPool(Options{}) {}
  explicit ThreadPool(Options options);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// Returns the process-wide pool, for callers without their own threads. It is never destroyed,
  /// because static destructors may use it.
  static ThreadPool &ofProcess();

  int threads() const override { return static_cast<int>(workers.size()) + 1; }
  void run(int64_t items, Body body, void *context) override;

private:
  /// The generation in the upper half, the next chunk in the lower half.
  using Ticket = uint64_t;
  static constexpr uint32_t kClosed = 0xFFFFFFFFu;

  void work();
  bool takeItems(uint32_t generation);
  void waitForItems();
  void waitForGeneration(uint32_t seen);
  void publish(int64_t items, Body body, void *context);

  const int spin;

  // The job, written while the ticket is closed. A reader may use these values only if the ticket
  // still has the same generation when it takes a chunk.
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
