//===- ThreadPoolTest.cpp - Tests of the thread pool ----------------------===//

#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/cpu/CpuInfo.h"

#include <chrono>
#include <gtest/gtest.h>
#include <numeric>

using namespace pe;
using namespace pe::cpu;

TEST(ThreadPool, RunsEveryItemOnce) {
  for (int threads : {1, 2, 4, 9}) {
    ThreadPool pool({.threads = threads});
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t items : {0, 1, 2, 3, 100, 10007}) {
      std::vector<std::atomic<int>> counts(static_cast<size_t>(items));
      parallelFor(pool, items, [&](int64_t i) { ++counts[static_cast<size_t>(i)]; });
      for (const std::atomic<int> &count : counts)
        ASSERT_EQ(count, 1);
    }
  }
}

// Runs short consecutive jobs with spinning and with sleeping workers. A late worker that took an
// item of the next job with the body of the previous one would write a wrong value.
TEST(ThreadPool, ConsecutiveJobsDoNotMix) {
  for (int spin : {0, 50, 4000}) {
    ThreadPool pool({.threads = 4, .spin = spin});
    std::vector<int64_t> slots(8);
    for (int64_t round = 0; round < 20000; ++round) {
      const int64_t items = 2 + round % 7;
      parallelFor(pool, items,
                  [&slots, round](int64_t i) { slots[static_cast<size_t>(i)] = round * 8 + i; });
      for (int64_t i = 0; i < items; ++i)
        ASSERT_EQ(slots[static_cast<size_t>(i)], round * 8 + i);
    }
  }
}

TEST(ThreadPool, NestedCallsRunInline) {
  ThreadPool pool({.threads = 4});
  std::atomic<int> total{0};
  std::atomic<int> elsewhere{0};
  parallelFor(pool, 16, [&](int64_t) {
    const std::thread::id mine = std::this_thread::get_id();
    parallelFor(pool, 10, [&](int64_t) {
      ++total;
      elsewhere += std::this_thread::get_id() != mine;
    });
  });
  EXPECT_EQ(total, 160);
  EXPECT_EQ(elsewhere, 0);
}

TEST(ThreadPool, CallersAreSerialized) {
  ThreadPool pool({.threads = 3});
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round)
        parallelFor(pool, 20, [&](int64_t i) { sum += i; });
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(sum, 4 * 500 * 190);
}

TEST(ThreadPool, SleepingWorkersWakeUp) {
  ThreadPool pool({.threads = 4, .spin = 0});
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> count{0};
    parallelFor(pool, 4, [&](int64_t) {
      ++count;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    ASSERT_EQ(count, 4);
  }
}

// Items run concurrently: four sleeping items take less than four times the sleep.
TEST(ThreadPool, WorkersShareTheWork) {
  ThreadPool pool({.threads = 4});
  const auto start = std::chrono::steady_clock::now();
  parallelFor(pool, 4,
              [](int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(100)); });
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(350));
}

TEST(ThreadPool, UsableCoresIsSane) {
  EXPECT_GE(usableCores(), 1);
  EXPECT_LE(usableCores(), 4096);
}
