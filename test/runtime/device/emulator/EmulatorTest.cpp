//===- EmulatorTest.cpp - Tests of the emulator and its checks ------------===//
//
// The kernels are C++ functions that call pe_emu_*, as emulated kernels do.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/emulator/Emulator.h"
#include "runtime/device/emulator/Collectives.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace pe;
using namespace pe::emulator;

namespace {

template <typename Function> Function *find(const char *name) {
  auto *function = reinterpret_cast<Function *>(findSymbol(name));
  EXPECT_NE(function, nullptr) << name;
  return function;
}

int32_t thread() { return find<int32_t()>("pe_emu_thread")(); }
float *sharedFloats() { return static_cast<float *>(find<void *()>("pe_emu_shared")()); }
void barrier() { find<void(const char *)>("pe_emu_barrier")("barrier"); }
void access(const void *address, bool isWrite, bool isShared, int64_t bytes = 4) {
  find<void(const void *, int64_t, int32_t, const char *)>("pe_emu_access")(
      address, bytes, (isWrite ? 1 : 0) | (isShared ? 2 : 0), "access");
}
void collective(Collective what, int detail, uint64_t *frame) {
  find<void(int32_t, int32_t, uint64_t *, const char *)>("pe_emu_collective")(
      static_cast<int32_t>(what), detail, frame, "collective");
}
void setShared(int index, float value) {
  access(sharedFloats() + index, true, true);
  sharedFloats()[index] = value;
}
float getShared(int index) {
  access(sharedFloats() + index, false, true);
  return sharedFloats()[index];
}

std::function<void()> currentKernel;
void body(void *const *, const int64_t *) { currentKernel(); }

/// Runs `kernel` in every thread of one CTA in each thread order. Returns the first error or "".
std::string run(std::function<void()> kernel, int threads = 64, int64_t sharedBytes = 1024,
                std::vector<Region> regions = {}) {
  currentKernel = std::move(kernel);
  using Launch = void(void (*)(void *const *, const int64_t *), void *const *, const int64_t *,
                      int64_t, int32_t, int64_t);
  auto *launch = find<Launch>("pe_emu_launch");
  for (Order order : {Order::Forward, Order::Reverse, Order::Random}) {
    setOptions({order, 7});
    beginStage(regions);
    launch(body, nullptr, nullptr, 0, threads, sharedBytes);
    if (Status s = endStage(); !s)
      return s.error().getMessage();
  }
  return "";
}

bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST(EmulatorTest, ThreadsShareAfterABarrier) {
  std::vector<float> seen(64);
  EXPECT_EQ(run([&] {
              const int t = thread();
              setShared(t, static_cast<float>(t));
              barrier();
              seen[t] = getShared(63 - t);
            }),
            "");
  for (int t = 0; t < 64; ++t)
    EXPECT_EQ(seen[t], static_cast<float>(63 - t));
}

TEST(EmulatorTest, SharedMemoryStartsAsNan) {
  bool isNan = true;
  EXPECT_EQ(run([&] { isNan = isNan && std::isnan(getShared(thread())); }), "");
  EXPECT_TRUE(isNan);
}

TEST(EmulatorTest, AMissingBarrierIsARace) {
  std::string error = run([&] {
    setShared(thread(), 1.0f);
    getShared(63 - thread());
  });
  EXPECT_TRUE(contains(error, "race")) << error;
  // A read followed by a write without synchronization.
  error = run([&] {
    setShared(thread(), 1.0f);
    barrier();
    getShared(63 - thread());
    setShared(thread(), 2.0f);
  });
  EXPECT_TRUE(contains(error, "race")) << error;
}

TEST(EmulatorTest, AWarpIsOrderedByItsOwnSynchronisation) {
  auto kernel = [](bool isSynchronised) {
    return [=] {
      setShared(thread(), 1.0f);
      uint64_t frame[16] = {};
      if (isSynchronised)
        collective(Collective::SyncWarp, 0, frame);
      getShared(thread() ^ 1);
    };
  };
  EXPECT_EQ(run(kernel(true)), "");
  EXPECT_TRUE(contains(run(kernel(false)), "race"));
}

TEST(EmulatorTest, OutOfBoundsAndMisaligned) {
  EXPECT_TRUE(contains(run([] { getShared(256); }), "reads 4 bytes at 1024 of 1024 bytes"));
  EXPECT_TRUE(contains(run([] { access(sharedFloats() + 1, false, true, 8); }), "misaligned"));
  std::vector<float> buffer(32);
  const std::vector<Region> regions = {
      {reinterpret_cast<uintptr_t>(buffer.data()), buffer.size() * 4}};
  auto touch = [&](int offset) {
    return [&buffer, offset] { access(buffer.data() + thread() % 32 + offset, true, false); };
  };
  EXPECT_EQ(run(touch(0), 64, 0, regions), "");
  EXPECT_TRUE(contains(run(touch(1), 64, 0, regions), "outside every buffer"));
}

TEST(EmulatorTest, ADivergentBarrierIsADeadlock) {
  std::string error = run([] {
    if (thread() < 63)
      barrier();
  });
  EXPECT_TRUE(contains(error, "deadlock")) << error;
  EXPECT_TRUE(contains(error, "63 threads at barrier")) << error;
}

TEST(EmulatorTest, LanesAtDifferentCollectives) {
  std::string error = run([] {
    uint64_t frame[16] = {};
    collective(thread() % 2 ? Collective::SyncWarp : Collective::Shuffle, 0, frame);
  });
  EXPECT_TRUE(contains(error, "different collectives")) << error;
}

TEST(EmulatorTest, CopiesLandWhenTheyAreWaitedFor) {
  alignas(16) static float source[64 * 4];
  for (int i = 0; i < 256; ++i)
    source[i] = static_cast<float>(i);
  const std::vector<Region> regions = {{reinterpret_cast<uintptr_t>(source), sizeof(source)}};
  auto copy = [](int bytes) {
    find<void(void *, const void *, int32_t, int32_t, const char *)>("pe_emu_copy_async")(
        sharedFloats() + thread() * 4, source + thread() * 4, 16, bytes, "copy");
    find<void()>("pe_emu_commit_copies")();
  };
  auto wait = [] { find<void(int32_t)>("pe_emu_wait_for_copies")(0); };
  float last = 0;
  EXPECT_EQ(run(
                [&] {
                  copy(thread() == 63 ? 8 : 16);
                  wait();
                  barrier();
                  if (thread() == 0)
                    last = getShared(63 * 4 + 1) + getShared(63 * 4 + 2) + getShared(5);
                },
                64, 1024, regions),
            "");
  EXPECT_EQ(last, 253.0f + 0.0f + 5.0f) << "bytes that are not copied are zero";
  // Without the wait, the copy is not complete; without the barrier, another thread's may not be.
  std::string error = run(
      [&] {
        copy(16);
        barrier();
        getShared(thread() * 4);
      },
      64, 1024, regions);
  EXPECT_TRUE(contains(error, "reads what an asynchronous copy")) << error;
  // Two copies to the same address are in flight; either may win.
  error = run(
      [&] {
        copy(16);
        copy(16);
        wait();
      },
      64, 1024, regions);
  EXPECT_TRUE(contains(error, "overwrites what an asynchronous copy")) << error;
  error = run(
      [&] {
        copy(16);
        wait();
        getShared((63 - thread()) * 4);
      },
      64, 1024, regions);
  EXPECT_FALSE(error.empty());
}

TEST(EmulatorTest, SmallCopiesLeaveTheirNeighboursAlone) {
  alignas(16) static float source[64];
  for (int i = 0; i < 64; ++i)
    source[i] = static_cast<float>(i);
  const std::vector<Region> regions = {{reinterpret_cast<uintptr_t>(source), sizeof(source)}};
  std::vector<float> found(64);
  EXPECT_EQ(run(
                [&] {
                  find<void(void *, const void *, int32_t, int32_t, const char *)>(
                      "pe_emu_copy_async")(sharedFloats() + thread(), source + 63 - thread(), 4,
                                           thread() % 3 ? 4 : 0, "copy");
                  find<void()>("pe_emu_commit_copies")();
                  find<void(int32_t)>("pe_emu_wait_for_copies")(0);
                  found[thread()] = getShared(thread());
                },
                64, 1024, regions),
            "");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(found[i], i % 3 ? 63.0f - i : 0.0f) << i;
}

TEST(EmulatorTest, OperandsOfTf32AreRounded) {
  auto multiply = [](float operand) {
    return [operand] {
      uint64_t frame[16] = {};
      frame[4] = std::bit_cast<uint32_t>(operand);
      collective(Collective::MultiplyAdd, 2, frame);
    };
  };
  EXPECT_EQ(run(multiply(1.0009765625f)), "");
  EXPECT_EQ(run(multiply(NAN)), "");
  EXPECT_TRUE(contains(run(multiply(1.0001f)), "an operand is not rounded to tf32"));
}

TEST(EmulatorTest, ATurnStandsBetweenBarriers) {
  static int32_t data[64], ticket = 0;
  const std::vector<Region> regions = {{reinterpret_cast<uintptr_t>(data), sizeof(data)},
                                       {reinterpret_cast<uintptr_t>(&ticket), 4}};
  auto kernel = [](bool waits, bool passes) {
    return [=] {
      if (thread() == 0)
        find<int32_t(const int32_t *, const char *)>("pe_emu_atomic_load")(&ticket, "load");
      if (waits)
        barrier();
      access(data + thread(), true, false);
      find<void(const char *)>("pe_emu_fence")("fence");
      if (passes)
        barrier();
      if (thread() == 0)
        find<void(int32_t, int32_t *, const char *)>("pe_emu_atomic_store")(1, &ticket, "store");
    };
  };
  EXPECT_EQ(run(kernel(true, true), 64, 0, regions), "");
  std::string error = run(kernel(true, false), 64, 0, regions);
  EXPECT_TRUE(contains(error, "passes the turn on")) << error;
  error = run(kernel(false, true), 64, 0, regions);
  EXPECT_TRUE(contains(error, "wait for its CTA's turn")) << error;
}

TEST(EmulatorTest, TicketsPassFromCtaToCta) {
  static int32_t ticket = 0;
  const std::vector<Region> regions = {{reinterpret_cast<uintptr_t>(&ticket), 4}};
  ticket = 0;
  EXPECT_EQ(run(
                [] {
                  if (thread() == 0)
                    find<void(int32_t, int32_t *, const char *)>("pe_emu_atomic_store")(1, &ticket,
                                                                                        "store");
                  while (find<int32_t(const int32_t *, const char *)>("pe_emu_atomic_load")(
                             &ticket, "load") != 1) {
                  }
                  barrier();
                },
                64, 0, regions),
            "");
}

namespace {

/// Runs a grid of `ctas` CTAs in the given start order on `residents` host threads. Returns the
/// error or "".
std::string runGrid(std::function<void()> kernel, int64_t ctas, int residents, Dispatch dispatch,
                    std::vector<Region> regions) {
  currentKernel = std::move(kernel);
  using Launch = void(void (*)(void *const *, const int64_t *), void *const *, const int64_t *,
                      int64_t, int32_t, int64_t);
  auto *launch = find<Launch>("pe_emu_launch");
  setOptions({.seed = 5, .dispatch = dispatch});
  beginStage(std::move(regions), ctas, residents);
  std::atomic<int64_t> next{0};
  auto work = [&] {
    for (int64_t item = next++; item < ctas; item = next++)
      launch(body, nullptr, nullptr, item, 64, 64);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < residents; ++i)
    others.emplace_back(work);
  work();
  for (std::thread &other : others)
    other.join();
  Status s = endStage();
  setOptions({});
  return s ? "" : s.error().getMessage();
}

constexpr Dispatch kDispatches[] = {Dispatch::Ascending, Dispatch::Descending, Dispatch::Random};

/// Waits until the ticket equals the item, then increments it.
void takeTurn(int32_t *ticket, int32_t item) {
  if (thread() == 0)
    while (find<int32_t(const int32_t *, const char *)>("pe_emu_atomic_load")(ticket, "wait") !=
           item) {
    }
  barrier();
  find<void(const char *)>("pe_emu_fence")("fence");
  barrier();
  if (thread() == 0)
    find<void(int32_t, int32_t *, const char *)>("pe_emu_atomic_store")(item + 1, ticket, "pass");
}

/// Takes the next item from a counter, for all threads of the CTA.
int32_t takeItem(int32_t *counter) {
  auto *slot = reinterpret_cast<int32_t *>(sharedFloats());
  if (thread() == 0) {
    const int32_t item =
        find<int32_t(int32_t, int32_t *, const char *)>("pe_emu_atomic_add")(1, counter, "count");
    access(slot, true, true);
    *slot = item;
  }
  barrier();
  access(slot, false, true);
  return *slot;
}

} // namespace

TEST(EmulatorTest, CtasStartInTheOrderAskedFor) {
  for (Dispatch dispatch : kDispatches) {
    std::vector<int32_t> order;
    EXPECT_EQ(runGrid(
                  [&] {
                    if (thread() == 0)
                      order.push_back(find<int32_t()>("pe_emu_block")());
                  },
                  7, 1, dispatch, {}),
              "");
    const std::vector<int32_t> up = {0, 1, 2, 3, 4, 5, 6}, down(up.rbegin(), up.rend());
    EXPECT_EQ(order == up, dispatch == Dispatch::Ascending);
    EXPECT_EQ(order == down, dispatch == Dispatch::Descending);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, up);
  }
}

TEST(EmulatorTest, TurnsByItemsFromACounterDoNotDependOnTheOrderOfCtas) {
  static int32_t memory[2];
  const std::vector<Region> regions = {{reinterpret_cast<uintptr_t>(memory), sizeof(memory)}};
  for (Dispatch dispatch : kDispatches)
    for (int residents : {1, 2, 3}) {
      memory[0] = memory[1] = 0;
      EXPECT_EQ(runGrid([] { takeTurn(&memory[0], takeItem(&memory[1])); }, 9, residents, dispatch,
                        regions),
                "");
      EXPECT_EQ(memory[0], 9);
      EXPECT_EQ(memory[1], 9);
    }
}

TEST(EmulatorTest, CtasThatAllWaitAreADeadlock) {
  static int32_t ticket;
  const std::vector<Region> regions = {{reinterpret_cast<uintptr_t>(&ticket), sizeof(ticket)}};
  // With turns by grid index, the CTA that all others wait for cannot start.
  auto byPlace = [] { takeTurn(&ticket, find<int32_t()>("pe_emu_block")()); };
  for (int residents : {1, 2, 3}) {
    ticket = 0;
    EXPECT_EQ(runGrid(byPlace, 9, residents, Dispatch::Ascending, regions), "");
    ticket = 0;
    std::string error = runGrid(byPlace, 9, residents, Dispatch::Descending, regions);
    EXPECT_TRUE(contains(error, "deadlock: every CTA that runs waits for another")) << error;
    EXPECT_TRUE(contains(error, "1 threads at wait")) << error;
  }
  // No CTA takes the turn, which the last CTAs of the grid detect.
  ticket = 0;
  std::string error = runGrid([] { takeTurn(&ticket, find<int32_t()>("pe_emu_block")() + 1); }, 2,
                              4, Dispatch::Ascending, regions);
  EXPECT_TRUE(contains(error, "deadlock: every CTA that runs waits for another")) << error;
}

/// Returns the number of mapped pages of the process.
static int64_t mappedPages() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0;
  file >> pages;
  return pages;
}

// The threads of a pool may be created and destroyed many times in a long-running process.
TEST(EmulatorTest, StacksAreFreedWithTheirThread) {
  const auto runOnThread = [] {
    std::string error;
    std::thread([&] { error = run([] { barrier(); }, 256); }).join();
    EXPECT_EQ(error, "");
  };
  runOnThread();
  const int64_t before = mappedPages();
  for (int call = 0; call < 20; ++call)
    runOnThread();
  EXPECT_LT(mappedPages() - before, 20 * 256 * 16 / 2) << "16 pages of 4 KiB per stack";
}
