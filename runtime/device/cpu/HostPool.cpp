//===- HostPool.cpp - Thread pool of the calling application --------------===//

#include "runtime/device/cpu/HostPool.h"

#include <algorithm>
#include <atomic>

namespace pe::cpu {

namespace {

struct Job {
  int64_t items;
  ParallelFor::Body body;
  void *context;
  std::atomic<int64_t> next{0};

  void takeItems() {
    for (int64_t item; (item = next.fetch_add(1, std::memory_order_relaxed)) < items;)
      body(context, item);
  }
};

} // namespace

int HostPool::threads() const {
  uint32_t count = 1;
  if (const int32_t code = pool.threads(&count)) {
    failure = failure ? failure : code;
    return 1;
  }
  return static_cast<int>(std::clamp<uint32_t>(count, 1, 1 << 16));
}

void HostPool::run(int64_t items, Body body, void *context) {
  Job job{items, body, context};
  if (const int64_t parts = std::min<int64_t>(items, threads()); parts > 1) {
    const int32_t code = pool.parallel_for(
        0, parts, 1, [](int64_t, int64_t, void *given) { static_cast<Job *>(given)->takeItems(); },
        &job);
    failure = failure ? failure : code;
  }
  job.takeItems();
}

Status HostPool::status() const {
  if (failure == 0)
    return Status::success();
  return makeError("expected the functions of the pool to return 0, found ", failure);
}

} // namespace pe::cpu
