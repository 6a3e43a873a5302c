//===- ThreadPool.cpp - The thread pool of the process --------------------===//

#include "runtime/device/cpu/ThreadPool.h"

#include "runtime/device/cpu/CpuInfo.h"

#include <algorithm>
#include <system_error>

namespace pe::cpu {

/// True if this thread is running an item, so that nested calls run inline.
static thread_local bool insideItem = false;

namespace {

/// Marks the thread as inside an item during its lifetime.
class InsideItem {
public:
  InsideItem() : before(insideItem) { insideItem = true; }
  ~InsideItem() { insideItem = before; }

private:
  bool before;
};

void runInline(int64_t items, ParallelFor::Body body, void *context) {
  InsideItem scope;
  for (int64_t i = 0; i < items; ++i)
    body(context, i);
}

constexpr uint32_t generationOf(uint64_t ticket) { return static_cast<uint32_t>(ticket >> 32); }
constexpr uint32_t indexOf(uint64_t ticket) { return static_cast<uint32_t>(ticket); }
constexpr uint64_t makeTicket(uint32_t generation, uint32_t index) {
  return static_cast<uint64_t>(generation) << 32 | index;
}

} // namespace

ThreadPool &ThreadPool::ofProcess() {
  static auto *pool = new ThreadPool();
  return *pool;
}

ThreadPool::ThreadPool(Options options) : spin(options.spin) {
  const int count =
      std::min(options.threads > 0 ? options.threads : usableCores(), Options::kMaxThreads);
  workers.reserve(static_cast<size_t>(count - 1));
  try {
    for (int i = 1; i < count; ++i)
      workers.emplace_back([this] { work(); });
  } catch (const std::system_error &) {
    // Thread creation failed; continue with the threads already started, which threads() counts.
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(sleepMutex);
    stopping = true;
  }
  wake.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::run(int64_t items, Body body, void *context) {
  if (items <= 0)
    return;
  if (items == 1 || workers.empty() || insideItem)
    return runInline(items, body, context);
  std::lock_guard lock(turn);
  publish(items, body, context);
  takeItems(generationOf(ticket.load(std::memory_order_relaxed)));
  waitForItems();
}

void ThreadPool::publish(int64_t items, Body body, void *context) {
  const uint32_t generation = generationOf(ticket.load(std::memory_order_relaxed)) + 1;
  // Close the ticket, so that a late worker that reads parts of the new job cannot take an item.
  ticket.store(makeTicket(generation, kClosed), std::memory_order_seq_cst);
  jobBody.store(body, std::memory_order_relaxed);
  jobContext.store(context, std::memory_order_relaxed);
  jobItems.store(items, std::memory_order_relaxed);
  jobChunk.store(items / (int64_t(1) << 31) + 1, std::memory_order_relaxed);
  unfinished.store(items, std::memory_order_relaxed);
  ticket.store(makeTicket(generation + 1, 0), std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) == 0)
    return;
  {
    std::lock_guard lock(sleepMutex);
  }
  wake.notify_all();
}

/// Runs items of `generation` until none is left. Returns true if it ran any.
bool ThreadPool::takeItems(uint32_t generation) {
  InsideItem scope;
  bool any = false;
  while (true) {
    Ticket seen = ticket.load(std::memory_order_acquire);
    const uint32_t index = indexOf(seen);
    const Body body = jobBody.load(std::memory_order_relaxed);
    void *context = jobContext.load(std::memory_order_relaxed);
    const int64_t items = jobItems.load(std::memory_order_relaxed);
    const int64_t chunk = jobChunk.load(std::memory_order_relaxed);
    const int64_t begin = static_cast<int64_t>(index) * chunk;
    if (generationOf(seen) != generation || index == kClosed || begin >= items)
      return any;
    // Success means that the job read above belongs to this generation.
    if (!ticket.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel))
      continue;
    const int64_t end = std::min(begin + chunk, items);
    for (int64_t item = begin; item < end; ++item)
      body(context, item);
    any = true;
    if (unfinished.fetch_sub(end - begin, std::memory_order_seq_cst) == end - begin &&
        callerSleeps.load(std::memory_order_seq_cst)) {
      {
        std::lock_guard lock(sleepMutex);
      }
      done.notify_all();
    }
  }
}

/// Waits, on the calling thread, for items that workers still run.
void ThreadPool::waitForItems() {
  for (int i = 0; i < spin; ++i) {
    if (unfinished.load(std::memory_order_acquire) == 0)
      return;
    pause();
  }
  std::unique_lock lock(sleepMutex);
  callerSleeps.store(true, std::memory_order_seq_cst);
  done.wait(lock, [this] { return unfinished.load(std::memory_order_seq_cst) == 0; });
  callerSleeps.store(false, std::memory_order_relaxed);
}

/// Waits, on a worker, for a generation other than `seen`.
void ThreadPool::waitForGeneration(uint32_t seen) {
  const auto hasNews = [&] {
    const Ticket now = ticket.load(std::memory_order_seq_cst);
    return stopping || (generationOf(now) != seen && indexOf(now) != kClosed);
  };
  for (int i = 0; i < spin; ++i) {
    if (hasNews())
      return;
    pause();
  }
  std::unique_lock lock(sleepMutex);
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  wake.wait(lock, hasNews);
  sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void ThreadPool::work() {
  uint32_t seen = 0;
  while (!stopping) {
    waitForGeneration(seen);
    const Ticket now = ticket.load(std::memory_order_acquire);
    if (indexOf(now) == kClosed)
      continue;
    seen = generationOf(now);
    takeItems(seen);
  }
}

} // namespace pe::cpu
