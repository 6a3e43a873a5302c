//===- CallTest.cpp - Calls on the caller's memory ------------------------===//
//
// Tests, with the plan of SamplePlan.h on the CPU, which stages of a call run, which memory they
// access, and which calls are rejected.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/SamplePlan.h"
#include "runtime/device/cpu/HostPool.h"
#include "runtime/device/cpu/ThreadPool.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <new>
#include <thread>

using namespace pe;
using namespace pe::device;

/// Counts the allocations of this thread. A call must not allocate.
static thread_local int64_t allocations = 0;
void *operator new(size_t bytes) {
  ++allocations;
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

namespace {

constexpr int64_t kB = 2, kH = 3, kR = 5, kW = test::kWidth, kCount = kB * kH * kR * kW;

/// The tensors of a call, contiguous.
struct Tensors {
  std::vector<float> x = counting(kCount), w = counting(kH), y = fresh(kCount),
                     saved = fresh(kCount), dY = counting(kCount), dX = fresh(kCount),
                     dW = fresh(kH);
  std::vector<char> doubled = std::vector<char>(64, char(0xAB));

  static std::vector<float> counting(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(i + 1) * 0.25f;
    return values;
  }
  static std::vector<float> fresh(int64_t count) {
    return std::vector<float>(static_cast<size_t>(count), -77.0f);
  }

  static View full(const char *name, std::vector<float> &data) {
    return {name, data.data(), PE_F32, 4, {kB, kH, kR, kW}, {kH * kR * kW, kR * kW, kW, 1}};
  }
  static View heads(const char *name, std::vector<float> &data) {
    return {name, data.data(), PE_F32, 1, {kH}, {1}};
  }
  std::vector<View> views(const std::string &names) {
    const std::vector<View> all = {
        full("x", x),     heads("w", w),
        full("y", y),     full("saved", saved),
        full("d_y", dY),  full("d_x", dX),
        heads("d_w", dW), {"doubled", doubled.data(), PE_U8, 1, {64}, {1}}};
    std::vector<View> chosen;
    for (const View &view : all)
      if ((" " + names + " ").find(std::string(" ") + view.name + " ") != std::string::npos)
        chosen.push_back(view);
    return chosen;
  }
};

class CallTest : public testing::Test {
protected:
  static cpu::Executor make(bool poison) {
    return *cpu::Executor::create(test::samplePlan(), test::lookup, nullptr, {.poison = poison});
  }
  Status run(Halves halves, const std::vector<View> &views, const Positions &positions = {}) {
    BoundCall call(executor.bound(), halves, views);
    const int64_t bytes = call.bind(positions) ? call.workspaceBytes() : 0;
    std::vector<char> workspace(static_cast<size_t>(bytes) + 1, 0x55);
    CallContext context;
    context.workspace = workspace.data() + 1; // at an odd address
    context.workspaceBytes = bytes;
    context.pool = &pool;
    for (auto &calls : test::stageCalls())
      calls = 0;
    return executor.run(halves, views, positions, context);
  }
  std::string errorOf(Halves halves, const std::vector<View> &views,
                      const Positions &positions = {}) {
    Status s = run(halves, views, positions);
    EXPECT_FALSE(s);
    return s ? "" : s.error().getMessage();
  }
  std::array<int64_t, 4> ran() const {
    std::array<int64_t, 4> counts;
    for (size_t i = 0; i < 4; ++i)
      counts[i] = test::stageCalls()[i];
    return counts;
  }

  cpu::ThreadPool pool{{.threads = 2}};
  cpu::Executor executor = make(true);
};

using Counts = std::array<int64_t, 4>;
constexpr int64_t kRows = kB * kH * kR;

} // namespace

TEST_F(CallTest, ComputesOnlyPassedTensors) {
  Tensors t;
  ASSERT_TRUE(run(kForward, t.views("x w y saved"), {.queryStart = 0}));
  EXPECT_EQ(ran(), (Counts{1, kRows, 0, 0}));
  EXPECT_EQ(t.y[0], 0.25f * 2 * 0.25f);
  EXPECT_EQ(t.saved, t.x);
  ASSERT_TRUE(run(kBackward, t.views("x w saved d_y d_x"), {.queryStart = 0}));
  EXPECT_EQ(ran(), (Counts{0, 0, kRows, 0})) << "d_w is not requested";
  ASSERT_TRUE(run(kBackward, t.views("x w saved d_y d_w"), {.queryStart = 0}));
  EXPECT_EQ(ran(), (Counts{0, 0, kRows, kH}));
  EXPECT_GT(t.dW[0], 0);
  // Both halves in one call, without saved tensors.
  Tensors both;
  ASSERT_TRUE(run(kForward | kBackward, both.views("x w d_y d_x d_w"), {.queryStart = 0}));
  EXPECT_EQ(both.dW, t.dW);
  EXPECT_EQ(both.dX, t.dX);
  EXPECT_EQ(both.saved, Tensors().saved);
}

// A second form of `forwardRow`, which also writes a large temporary, for calls with few rows.
TEST_F(CallTest, StagesRunIfTheirConditionIsPositive) {
  const auto use = [&](const std::string &few, const std::string &many) {
    plan::Plan plan = test::samplePlan();
    plan.buffers.push_back({.name = "parts", .role = plan::Role::Temporary, .shape = {"1000*r"}});
    plan::Stage second = plan.stages[1];
    second.buffers.push_back(9);
    second.writes.push_back(9);
    second.when = few;
    plan.stages[1].when = many;
    plan.stages.insert(plan.stages.begin() + 1, second);
    executor = *cpu::Executor::create(plan, test::lookup, nullptr, {.poison = true});
  };
  const auto workspace = [&](const std::vector<View> &views) {
    BoundCall call(executor.bound(), kForward, views);
    EXPECT_TRUE(call.bind({}));
    return call.workspaceBytes();
  };
  Tensors expected, t;
  ASSERT_TRUE(run(kForward, expected.views("x w y saved")));
  const int64_t without = workspace(t.views("x w y saved"));
  use("r - 5", "6 - r"); // the call has 5 rows
  ASSERT_TRUE(run(kForward, t.views("x w y saved")));
  EXPECT_EQ(ran(), (Counts{1, kRows, 0, 0}));
  EXPECT_EQ(t.y, expected.y);
  EXPECT_EQ(workspace(t.views("x w y saved")), without) << "'parts' belongs to no stage that runs";
  use("6 - r", "r - 5");
  std::fill(t.y.begin(), t.y.end(), -77.0f);
  ASSERT_TRUE(run(kForward, t.views("x w y saved")));
  EXPECT_EQ(ran(), (Counts{1, kRows, 0, 0}));
  EXPECT_EQ(t.y, expected.y);
  EXPECT_GE(workspace(t.views("x w y saved")), without + 1000 * kR * 4);
  use("r - 4", "r - 4");
  ASSERT_TRUE(run(kForward, t.views("x w y saved")));
  EXPECT_EQ(ran(), (Counts{1, 2 * kRows, 0, 0}));
}

// The gradient of an argument that nothing reads.
TEST_F(CallTest, GradientsWithoutStagesAreZero) {
  plan::Plan plan = test::samplePlan();
  plan.stages.pop_back();
  executor = *cpu::Executor::create(plan, test::lookup, nullptr, {});
  Tensors t;
  ASSERT_TRUE(run(kBackward, t.views("x w saved d_y d_w")));
  EXPECT_EQ(ran(), Counts{});
  EXPECT_EQ(t.dW, std::vector<float>(kH, 0.0f));
}

// A buffer that a later stage also writes cannot be shared between calls.
TEST(PreparedTensors, AreWrittenOnlyByPrepareStages) {
  plan::Plan plan = test::samplePlan();
  EXPECT_EQ(BoundPlan::create(plan)->groups().size(), 1u);
  plan.stages[1].writes.push_back(2);
  EXPECT_TRUE(BoundPlan::create(plan)->groups().empty());
}

// A sum that no stage adds to is read as zero by later stages.
TEST_F(CallTest, UnwrittenSumsAreReadAsZero) {
  plan::Plan plan = test::samplePlan();
  plan.stages.erase(plan.stages.begin() + 2);
  executor = *cpu::Executor::create(plan, test::lookup, nullptr, {.poison = true});
  Tensors t;
  Status ended = run(kBackward, t.views("x w saved d_y d_w"));
  ASSERT_TRUE(ended) << ended.error().getMessage();
  EXPECT_EQ(ran(), (Counts{0, 0, 0, kH}));
  EXPECT_EQ(t.dW, std::vector<float>(kH, 0.0f));
}

TEST_F(CallTest, PreparedTensorsGiveTheSameBits) {
  Tensors absent, kept;
  ASSERT_TRUE(run(kForward, absent.views("x w y")));
  ASSERT_TRUE(run(kPrepare, kept.views("x w doubled")));
  EXPECT_EQ(ran(), (Counts{1, 0, 0, 0}));
  ASSERT_TRUE(run(kForward, kept.views("x w y doubled")));
  EXPECT_EQ(ran(), (Counts{0, kRows, 0, 0})) << "prepared tensors are not computed again";
  EXPECT_EQ(kept.y, absent.y);
  std::fill(kept.doubled.begin(), kept.doubled.end(), 0);
  ASSERT_TRUE(run(kPrepare | kForward, kept.views("x w y doubled")));
  EXPECT_EQ(kept.y, absent.y);
  ASSERT_TRUE(run(kPrepare, kept.views("x w"))) << "a call without tensors to prepare is valid";
  EXPECT_EQ(ran(), Counts{});
  // The prepared tensor is read.
  std::fill(kept.doubled.begin(), kept.doubled.end(), 0);
  ASSERT_TRUE(run(kForward, kept.views("x w y doubled"), {.queryStart = 0}));
  EXPECT_EQ(kept.y[7], 0.0f);
}

// If only the shape of an argument is read, its data may be null.
TEST_F(CallTest, PreparationNeedsNoData) {
  Tensors t;
  std::vector<View> views = t.views("x w doubled");
  views[0].data = nullptr;
  ASSERT_TRUE(run(kPrepare, views));
  EXPECT_EQ(reinterpret_cast<float *>(t.doubled.data())[1], 1.0f);
}

TEST_F(CallTest, WorkspaceSizeIsExact) {
  Tensors t;
  const std::vector<View> views = t.views("x w saved d_y d_w");
  BoundCall call(executor.bound(), kBackward, views);
  ASSERT_TRUE(call.bind({}));
  const int64_t bytes = call.workspaceBytes();
  // The workspace must hold d_x (kCount floats) and `partial`.
  EXPECT_GE(bytes, (kCount + kRows) * 4);
  EXPECT_EQ(call.zeroedBytes(), aligned(kRows * 4));
  std::vector<char> memory(static_cast<size_t>(bytes) + 128, 0x55);
  CallContext context;
  context.workspace = memory.data() + 64;
  context.workspaceBytes = bytes;
  context.pool = &pool;
  ASSERT_TRUE(executor.run(kBackward, views, {}, context));
  for (size_t i = 0; i < 64; ++i)
    EXPECT_TRUE(memory[i] == 0x55 && memory[memory.size() - 1 - i] == 0x55);
  context.workspaceBytes = bytes - 1;
  Status s = executor.run(kBackward, views, {}, context);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().getMessage(), "expected a workspace of " + std::to_string(bytes) +
                                        " bytes (pe_workspace), found " +
                                        std::to_string(bytes - 1));
}

TEST_F(CallTest, NothingIsAllocated) {
  const cpu::Executor plain = make(false);
  Tensors t;
  const std::vector<View> views = t.views("x w y saved");
  std::vector<char> workspace(4096);
  CallContext context;
  context.workspace = workspace.data();
  context.workspaceBytes = static_cast<int64_t>(workspace.size());
  context.pool = &pool;
  const int64_t before = allocations;
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(plain.run(kForward, views, {}, context));
  EXPECT_EQ(allocations, before);
}

TEST_F(CallTest, ConcurrentCallsAreIndependent) {
  Tensors expected;
  ASSERT_TRUE(run(kForward | kBackward, expected.views("x w y d_y d_x d_w")));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        Tensors t;
        std::vector<char> workspace(1 << 14);
        CallContext context;
        context.workspace = workspace.data();
        context.workspaceBytes = static_cast<int64_t>(workspace.size());
        context.pool = &pool;
        const Status s =
            executor.run(kForward | kBackward, t.views("x w y d_y d_x d_w"), {}, context);
        wrong += !s || t.y != expected.y || t.dX != expected.dX || t.dW != expected.dW;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(CallTest, ReportsWrongNamesAndHalves) {
  Tensors t;
  std::vector<View> views = t.views("x w y");
  views[2].name = "z";
  EXPECT_EQ(errorOf(kForward, views),
            "tensor 'z': 'scale' has no such tensor; expected only x, w, y, saved, doubled");
  EXPECT_EQ(errorOf(kForward, t.views("x w y d_y")),
            "tensor 'd_y': 'scale' has no such tensor in a forward call; expected only x, w, y, "
            "saved, doubled");
  views = t.views("x w y");
  views.push_back(views[0]);
  EXPECT_EQ(errorOf(kForward, views), "tensor 'x': expected it once, found it as tensors 0 and 3");
  views[3].name = nullptr;
  EXPECT_EQ(errorOf(kForward, views), "tensor 3: expected a name, found none");
  EXPECT_EQ(errorOf(0, t.views("x w y")),
            "expected one or more of PE_PREPARE, PE_FORWARD and PE_BACKWARD, found 0");
  EXPECT_EQ(errorOf(8, t.views("x w y")),
            "expected one or more of PE_PREPARE, PE_FORWARD and PE_BACKWARD, found 8");
}

TEST_F(CallTest, ReportsMissingTensors) {
  Tensors t;
  EXPECT_EQ(errorOf(kForward, t.views("x y")),
            "tensor 'w': expected as an argument of 'scale', found none");
  EXPECT_EQ(errorOf(kForward, t.views("w y")),
            "tensor 'x': expected as an argument of 'scale', found none; its shape defines b");
  EXPECT_EQ(errorOf(kForward, t.views("x w")),
            "expected at least one tensor for the forward call to write (y, saved), found none");
  EXPECT_EQ(errorOf(kBackward, t.views("x w saved d_x")),
            "expected at least one cotangent (d_y), found none");
  EXPECT_EQ(errorOf(kBackward, t.views("x w saved d_y")),
            "expected at least one gradient for the backward call to write (d_x, d_w), found none");
  EXPECT_EQ(errorOf(kBackward, t.views("x w d_y d_w")),
            "tensor 'saved': expected the tensor that the forward call wrote, found none; pass it "
            "to both calls");
  std::vector<View> views = t.views("x w y");
  views[2].data = nullptr;
  EXPECT_EQ(errorOf(kForward, views), "tensor 'y': expected an address, found none");
}

TEST_F(CallTest, ReportsWrongShapesAndTypes) {
  Tensors t;
  const auto errorWith = [&](size_t index, auto change) {
    std::vector<View> views = t.views("x w y doubled");
    change(views[index]);
    return errorOf(kForward, views);
  };
  EXPECT_EQ(errorWith(1, [](View &v) { v.shape[0] = 4; }),
            "tensor 'w': expected shape [hq = 3], found [4]; 'x' gives hq");
  EXPECT_EQ(errorWith(2, [](View &v) { v.shape[2] = 4; }),
            "tensor 'y': expected shape [2, 3, 5, 4], found [2, 3, 4, 4]");
  EXPECT_EQ(errorWith(2, [](View &v) { v.dtype = PE_F64; }),
            "tensor 'y': expected element type f32, found f64");
  EXPECT_EQ(errorWith(2, [](View &v) { v.dtype = static_cast<pe_dtype>(99); }),
            "tensor 'y': expected element type f32, found unknown type 99");
  EXPECT_EQ(errorWith(0, [](View &v) { v.rank = 9; }),
            "tensor 'x': expected a rank of 0 to 8, found 9");
  EXPECT_EQ(errorWith(0, [](View &v) { v.shape[1] = -1; }),
            "tensor 'x': expected dimensions of at least 0, found shape [2, -1, 5, 4]");
  EXPECT_NE(errorWith(0, [](View &v) { v.shape[0] = v.shape[1] = int64_t(1) << 40; })
                .find("expected at most 2^57 elements"),
            std::string::npos);
  EXPECT_NE(errorWith(0, [](View &v) { v.strides[0] = INT64_MIN; })
                .find("expected strides that stay within 2^57 elements"),
            std::string::npos);
  EXPECT_EQ(errorWith(3, [](View &v) { v.shape[0] = 63; }), "tensor 'doubled': expected shape [64]"
                                                            ", found [63]");
  EXPECT_EQ(errorWith(3, [](View &v) { v.strides[0] = 2; }),
            "tensor 'doubled': expected contiguous bytes, found a stride of 2");
  EXPECT_NE(errorWith(3, [](View &v) { v.data = static_cast<char *>(v.data) + 1; })
                .find("expected an address that is a multiple of 16"),
            std::string::npos);
}

TEST_F(CallTest, RejectsOverlappingMemory) {
  Tensors t;
  std::vector<View> views = t.views("x w y saved");
  views[2].data = static_cast<float *>(views[0].data) + 16;
  EXPECT_EQ(errorOf(kForward, views),
            "tensor 'y': expected an output that overlaps no other tensor, found an overlap with "
            "tensor 'x'");
  views = t.views("x w y saved");
  views[3].data = views[2].data;
  EXPECT_NE(errorOf(kForward, views).find("expected an output that overlaps no other tensor"),
            std::string::npos);
  views = t.views("x w y");
  views[2].strides[1] = 0;
  EXPECT_EQ(errorOf(kForward, views),
            "tensor 'y': expected an output whose elements do not overlap, found strides "
            "[60, 0, 4, 1] of shape [2, 3, 5, 4]");
  // Inputs may overlap.
  std::vector<View> same = t.views("x w saved d_y d_x");
  same[3].data = same[2].data = same[0].data;
  EXPECT_TRUE(run(kBackward, same));
  std::vector<float> memory(4096);
  views = t.views("x w y");
  views[2].data = memory.data() + 100;
  CallContext context;
  context.workspace = memory.data();
  context.workspaceBytes = 4096;
  context.pool = &pool;
  Status s = executor.run(kForward, views, {}, context);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().getMessage(),
            "tensor 'y': expected memory outside the workspace, found an overlap with it");
}

namespace {

/// An application's pool with one thread per part. It can return an error before or after the work.
struct Host {
  static int32_t parallelFor(int64_t begin, int64_t end, int64_t grain, pe_range_body body,
                             void *context) {
    EXPECT_EQ(grain, 1);
    if (refuses)
      return 7;
    std::vector<std::thread> threads;
    for (int64_t part = begin; part < end; ++part)
      threads.emplace_back([=] { body(part, part + 1, context); });
    for (std::thread &thread : threads)
      thread.join();
    ++calls;
    return 0;
  }
  static int32_t threads(uint32_t *count) {
    *count = 3;
    return 0;
  }
  static inline bool refuses = false;
  static inline int calls = 0;
};

} // namespace

TEST_F(CallTest, UsesTheApplicationsPool) {
  const pe_pool functions = {Host::parallelFor, Host::threads};
  cpu::HostPool host(functions);
  EXPECT_EQ(host.threads(), 3);
  std::array<std::atomic<int>, 100> seen{};
  const auto work = [&] { parallelFor(host, 100, [&](int64_t item) { ++seen[item]; }); };
  work();
  EXPECT_EQ(Host::calls, 1);
  for (const auto &count : seen)
    EXPECT_EQ(count, 1);
  EXPECT_TRUE(host.status());
  Host::refuses = true;
  work();
  Host::refuses = false;
  for (const auto &count : seen)
    EXPECT_EQ(count, 2) << "the caller runs the items that the pool did not";
  EXPECT_EQ(host.status().error().getMessage(),
            "expected the functions of the pool to return 0, found 7");
}
