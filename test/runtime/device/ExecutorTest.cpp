//===- ExecutorTest.cpp - Plans whose stages are plain C++ functions ------===//
//
// Uses the plan of SamplePlan.h.
//
//===----------------------------------------------------------------------===//

#include "SamplePlan.h"
#include "runtime/device/cpu/ThreadPool.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace pe;
using namespace pe::cpu;
using namespace pe::plan;
using pe::test::f32;
using pe::test::kWidth;
using pe::test::lookup;
using pe::test::samplePlan;

namespace {

Tensor counting(Shape shape) {
  Tensor t = Tensor::zeros(DType::F32, std::move(shape));
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<float>()[i] = static_cast<float>(i + 1);
  return t;
}

class ExecutorTest : public testing::Test {
protected:
  Executor make(Plan plan) {
    Expected<Executor> executor =
        Executor::create(std::move(plan), lookup, nullptr, {.poison = true});
    EXPECT_TRUE(executor) << (executor ? "" : executor.error().getMessage());
    return *std::move(executor);
  }
  std::string forwardError(const TensorMap &arguments, const Positions &positions = {}) {
    Expected<std::shared_ptr<const device::Call>> call =
        executor.forward(arguments, positions, pool);
    EXPECT_FALSE(call);
    return call ? "" : call.error().getMessage();
  }

  ThreadPool pool{{.threads = 3}};
  Executor executor = make(samplePlan());
  TensorMap arguments = {{"x", counting({2, 3, 5, 4})}, {"w", counting({3})}};
};

} // namespace

TEST_F(ExecutorTest, ForwardAndBackward) {
  Expected<std::shared_ptr<const device::Call>> call =
      executor.forward(arguments, Positions{.queryStart = 7}, pool);
  ASSERT_TRUE(call) << call.error().getMessage();
  ASSERT_EQ((*call)->results().size(), 1u);
  const Tensor &y = (*call)->results().at("y");
  ASSERT_EQ(y.shape(), (Shape{2, 3, 5, 4}));
  for (int64_t i = 0; i < y.numel(); ++i)
    EXPECT_EQ(y.values<float>()[i], static_cast<float>((i + 1) * 2 * (i / 20 % 3 + 1) + 7));

  TensorMap cotangents = {{"d_y", counting({2, 3, 5, 4})}};
  Expected<TensorMap> gradients = executor.backward(**call, cotangents, pool);
  ASSERT_TRUE(gradients) << gradients.error().getMessage();
  ASSERT_EQ(gradients->size(), 2u);
  for (int64_t i = 0; i < y.numel(); ++i)
    EXPECT_EQ(gradients->at("d_x").values<float>()[i],
              static_cast<float>(2 * (i + 1) * (i / 20 % 3 + 1)));
  double expected[3] = {};
  for (int64_t i = 0; i < y.numel(); ++i)
    expected[i / 20 % 3] += 2.0 * static_cast<double>(i + 1) * static_cast<double>(i + 1);
  for (int64_t h = 0; h < 3; ++h)
    EXPECT_NEAR(gradients->at("d_w").values<float>()[h], expected[h], 1e-3 * expected[h]);
}

// A forward call may have several backward calls, and calls do not affect each other.
TEST_F(ExecutorTest, CallsAreIndependent) {
  Expected<std::shared_ptr<const device::Call>> first = executor.forward(arguments, {}, pool);
  TensorMap other = {{"x", counting({1, 2, 9, 4})}, {"w", counting({2})}};
  Expected<std::shared_ptr<const device::Call>> second = executor.forward(other, {}, pool);
  ASSERT_TRUE(first && second);
  TensorMap cotangents = {{"d_y", counting({2, 3, 5, 4})}};
  Expected<TensorMap> a = executor.backward(**first, cotangents, pool);
  Expected<TensorMap> b = executor.backward(**first, cotangents, pool);
  ASSERT_TRUE(a && b);
  for (int64_t h = 0; h < 3; ++h)
    EXPECT_EQ(a->at("d_w").values<float>()[h], b->at("d_w").values<float>()[h]);
  EXPECT_EQ((*second)->results().at("y").shape(), (Shape{1, 2, 9, 4}));
}

TEST_F(ExecutorTest, StridedArgumentsAreRead) {
  Tensor transposed = counting({5, 4, 2, 3}).permute({2, 3, 0, 1});
  Expected<std::shared_ptr<const device::Call>> call =
      executor.forward({{"x", transposed}, {"w", counting({3})}}, Positions{.queryStart = 0}, pool);
  ASSERT_TRUE(call);
  const Tensor &y = (*call)->results().at("y");
  EXPECT_EQ(y.data<float>()[y.offsetOf({1, 2, 3, 1})],
            transposed.data<float>()[transposed.offsetOf({1, 2, 3, 1})] * 6);
}

TEST_F(ExecutorTest, EmptyCallsWork) {
  for (Shape shape : {Shape{0, 3, 5, 4}, Shape{2, 3, 0, 4}}) {
    Expected<std::shared_ptr<const device::Call>> call =
        executor.forward({{"x", Tensor::zeros(DType::F32, shape)}, {"w", counting({3})}}, {}, pool);
    ASSERT_TRUE(call) << call.error().getMessage();
    EXPECT_EQ((*call)->results().at("y").shape(), shape);
    Expected<TensorMap> gradients =
        executor.backward(**call, {{"d_y", Tensor::zeros(DType::F32, shape)}}, pool);
    ASSERT_TRUE(gradients);
    EXPECT_EQ(gradients->at("d_w").values<float>()[2], 0);
  }
}

TEST_F(ExecutorTest, WrongArgumentsAreNamed) {
  EXPECT_EQ(forwardError({{"x", arguments["x"]}}),
            "tensor 'w': expected as an argument of 'scale', found none");
  TensorMap extra = arguments;
  extra["z"] = arguments["w"];
  EXPECT_EQ(forwardError(extra), "tensor 'z': 'scale' has no such argument; expected only x, w");
  TensorMap typed = arguments;
  typed["w"] = Tensor::zeros(DType::F64, {3});
  EXPECT_EQ(forwardError(typed), "tensor 'w': expected element type f32, found f64");
  TensorMap shaped = arguments;
  shaped["w"] = counting({4});
  EXPECT_EQ(forwardError(shaped), "tensor 'w': expected shape [hq = 3], found [4]; 'x' gives hq");
  shaped["w"] = counting({3, 1});
  EXPECT_EQ(forwardError(shaped),
            "tensor 'w': expected shape [hq = 3], found [3, 1]; the rank must be 1");
  shaped = arguments;
  shaped["x"] = counting({2, 3, 5, 8});
  EXPECT_EQ(forwardError(shaped),
            "tensor 'x': expected shape [b = 2, hq = 3, r = 5, 4], found [2, 3, 5, 8]");
}

TEST_F(ExecutorTest, HeadsMustBeWithinTheTotal) {
  EXPECT_NE(forwardError(arguments, {.headStart = 2, .headsTotal = 4}).find("head_start 2"),
            std::string::npos);
  EXPECT_NE(forwardError(arguments, {.headStart = -1}).find("head_start -1"), std::string::npos);
  EXPECT_NE(forwardError(arguments, {.keyStart = int64_t(1) << 50}).find("k_start"),
            std::string::npos);
  EXPECT_TRUE(executor.forward(arguments, Positions{.headStart = 1, .headsTotal = 4}, pool));
}

TEST_F(ExecutorTest, HeadsTotalIsRequired) {
  EXPECT_NE(forwardError(arguments, {.headStart = 1}).find("pass heads_total"), std::string::npos);
}

TEST_F(ExecutorTest, ACallBelongsToItsFunction) {
  Expected<std::shared_ptr<const device::Call>> call = executor.forward(arguments, {}, pool);
  ASSERT_TRUE(call);
  Executor other = make(samplePlan());
  Expected<TensorMap> gradients = other.backward(**call, {{"d_y", arguments["x"]}}, pool);
  ASSERT_FALSE(gradients);
  EXPECT_EQ(gradients.error().getMessage(), "expected a forward call of this function, 'scale', "
                                            "found a call of another function");
  const Executor copy = executor;
  EXPECT_TRUE(copy.backward(**call, {{"d_y", arguments["x"]}}, pool));
}

TEST_F(ExecutorTest, WrongCotangentsAreNamed) {
  Expected<std::shared_ptr<const device::Call>> call = executor.forward(arguments, {}, pool);
  ASSERT_TRUE(call);
  const auto error = [&](const TensorMap &cotangents) {
    Expected<TensorMap> gradients = executor.backward(**call, cotangents, pool);
    EXPECT_FALSE(gradients);
    return gradients ? "" : gradients.error().getMessage();
  };
  EXPECT_NE(error({}).find("at least one cotangent"), std::string::npos);
  EXPECT_NE(error({{"d_z", arguments["x"]}}).find("expected only d_y"), std::string::npos);
  EXPECT_NE(error({{"d_y", arguments["w"]}}).find("found [3]"), std::string::npos);
}

TEST_F(ExecutorTest, AForwardPlanHasNoBackward) {
  Plan plan = samplePlan();
  plan.stages.resize(2);
  Executor forwardOnly = make(plan);
  Expected<std::shared_ptr<const device::Call>> call = forwardOnly.forward(arguments, {}, pool);
  ASSERT_TRUE(call);
  Expected<TensorMap> gradients = forwardOnly.backward(**call, {{"d_y", arguments["x"]}}, pool);
  ASSERT_FALSE(gradients);
  EXPECT_NE(gradients.error().getMessage().find("compiled without gradients"), std::string::npos);
}

TEST_F(ExecutorTest, AMissingStageIsNamed) {
  Plan plan = samplePlan();
  plan.stages[1].symbol = "gone";
  Expected<Executor> executor = Executor::create(plan, lookup, nullptr);
  ASSERT_FALSE(executor);
  EXPECT_NE(executor.error().getMessage().find("'gone'"), std::string::npos);
}

// With poisoning, elements that no stage writes stay NaN, so they cannot pass a comparison.
TEST_F(ExecutorTest, PoisonRevealsUnwrittenElements) {
  Plan plan = samplePlan();
  plan.stages.erase(plan.stages.begin() + 1);
  Expected<std::shared_ptr<const device::Call>> call = make(plan).forward(arguments, {}, pool);
  ASSERT_TRUE(call);
  for (float value : (*call)->results().at("y").values<float>())
    EXPECT_TRUE(std::isnan(value));
}

/// buffers: x, y; y = x / 2^10, which is subnormal for x = 2^-120.
static void shrink(void *const *buffers, const int64_t *, int64_t item) {
  volatile float x = f32(buffers[0])[item];
  f32(buffers[1])[item] = x * 0x1p-10f;
}

// Stages flush subnormals independent of the mode of the calling thread, and do not change it.
TEST(FloatingPointModeTest, StagesFlushSubnormals) {
  Plan plan;
  plan.entry = "shrink";
  plan.frame = standardFrame();
  plan.headDim = plan.valueDim = 1;
  plan.buffers = {{.name = "x", .role = Role::Argument, .shape = {"r"}},
                  {.name = "y", .role = Role::Result, .shape = {"r"}}};
  plan.stages = {{"shrink", Phase::Forward, "r", "", {0, 1}, {1}, {}}};
  auto find = [](const std::string &) { return reinterpret_cast<void *>(shrink); };
  Expected<Executor> executor = Executor::create(plan, find, nullptr, {});
  ASSERT_TRUE(executor) << executor.error().getMessage();
  Tensor x = Tensor::zeros(DType::F32, {3});
  x.data<float>()[0] = 0x1p-120f;
  x.data<float>()[1] = 0x1p-140f;
  x.data<float>()[2] = 1.0f;
  ThreadPool pool{{.threads = 2}};
  Expected<std::shared_ptr<const device::Call>> call = executor->forward({{"x", x}}, {}, pool);
  ASSERT_TRUE(call) << call.error().getMessage();
  const Tensor &y = (*call)->results().at("y");
  EXPECT_EQ(y.values<float>()[0], 0.0f);
  EXPECT_EQ(y.values<float>()[1], 0.0f);
  EXPECT_EQ(y.values<float>()[2], 0x1p-10f);
  volatile float small = 0x1p-120f;
  EXPECT_NE(small * 0x1p-10f, 0.0f) << "the caller's own mode was changed";
}

/// y = 2 x over rows that may have gaps; buffers: x, y; item: row of b*r.
static void doubleRow(void *const *buffers, const int64_t *frame, int64_t item) {
  const int64_t b = item / frame[3], r = item % frame[3];
  for (int64_t d = 0; d < kWidth; ++d)
    f32(buffers[1])[item * kWidth + d] = 2 * f32(buffers[0])[b * frame[12] + r * frame[13] + d];
}

// Views are used in place if their strides allow it; others are packed first.
TEST(Views, StridesAreWordsOfTheFrame) {
  Plan plan;
  plan.entry = "double";
  plan.headDim = plan.valueDim = kWidth;
  plan.frame = standardFrame();
  for (int axis : {0, 1})
    plan.frame.push_back({FrameWord::Kind::Stride, "x", "", axis});
  plan.buffers = {{.name = "x", .role = Role::Argument, .shape = {"b", "r", "4"}},
                  {.name = "y", .role = Role::Result, .shape = {"b", "r", "4"}}};
  plan.stages = {{"doubleRow", Phase::Forward, "b*r", "", {0, 1}, {1}, {}}};
  const auto find = [](const std::string &) { return reinterpret_cast<void *>(doubleRow); };
  ThreadPool pool({.threads = 2});
  Executor executor = *Executor::create(plan, find, nullptr, {.poison = true});
  const Tensor whole = counting({2, 5, 3, 8});
  const Tensor views[] = {whole.select(2, 1).slice(2, 4, 8), // gaps of 20 elements
                          whole.select(2, 1).slice(2, 3, 7), // rows not at 16 bytes
                          whole.select(2, 0).slice(2, 0, 4).transpose(0, 1)};
  for (size_t i = 0; i < std::size(views); ++i) {
    Expected<std::shared_ptr<const device::Call>> call =
        executor.forward({{"x", views[i]}}, {}, pool);
    ASSERT_TRUE(call) << call.error().getMessage();
    const Tensor x = views[i].clone(), &y = (*call)->results().at("y");
    for (int64_t n = 0; n < x.numel(); ++n)
      EXPECT_EQ(y.data<float>()[n], 2 * x.data<float>()[n]) << i << ", " << n;
  }
  const auto bound = *device::BoundPlan::create(plan);
  const auto canUse = [&](const Tensor &tensor, const void *data) {
    return bound.canUse(0, data, tensor.shape(), tensor.strides());
  };
  EXPECT_TRUE(canUse(views[0], views[0].rawData()));
  EXPECT_FALSE(canUse(views[1], views[1].rawData())) << "misaligned rows";
  EXPECT_FALSE(canUse(views[0].transpose(1, 2), whole.rawData())) << "a gap in the last axis";
  const int64_t far[] = {0, int64_t(1) << 22, 1};
  EXPECT_FALSE(bound.canUse(0, whole.rawData(), views[0].shape(), far)) << "16 MiB apart";
}

// Views with a row stride of a multiple of 1 KiB are copied if they are read often enough: keys in
// a forward call, queries in a backward call.
TEST(Views, RowsThatCollideInTheCacheArePacked) {
  const auto workspaceOf = [](const char *axis, Phase phase, int64_t rows, int64_t others,
                              int64_t pitch) {
    const std::string other = std::string(axis) == "r" ? "c" : "r";
    Plan plan;
    plan.entry = "double";
    plan.target = plan::Target::Cpu;
    plan.features = "x86-64-v3";
    plan.headDim = plan.valueDim = kWidth;
    plan.frame = standardFrame();
    for (int stride : {0, 1})
      plan.frame.push_back({FrameWord::Kind::Stride, "x", "", stride});
    plan.buffers = {{.name = "x", .role = Role::Argument, .shape = {"b", axis, "4"}},
                    {.name = "others", .role = Role::Argument, .shape = {other}},
                    {.name = "y",
                     .role = phase == Phase::Forward ? Role::Result : Role::Gradient,
                     .shape = {"b", axis, "4"}}};
    plan.stages = {{"doubleRow", phase, std::string("b*") + axis, "", {0, 2}, {2}, {}}};
    if (phase == Phase::Backward) {
      plan.buffers.push_back({.name = "d_o", .role = Role::Cotangent, .shape = {"b"}});
      plan.stages[0].buffers.push_back(3);
    }
    const device::BoundPlan bound = *device::BoundPlan::create(plan);
    static float nothing[4];
    const View views[] = {{"x", nothing, PE_F32, 3, {1, rows, 4}, {rows * pitch, pitch, 1}},
                          {"others", nothing, PE_F32, 1, {others}, {1}},
                          {"y", nothing, PE_F32, 3, {1, rows, 4}, {rows * 4, 4, 1}},
                          {"d_o", nothing, PE_F32, 1, {1}, {1}}};
    device::BoundCall call(bound, device::halfOf(phase), std::span(views, plan.buffers.size()));
    Status s = call.bind({});
    EXPECT_TRUE(s) << s.error().getMessage();
    return call.workspaceBytes();
  };
  EXPECT_GT(workspaceOf("c", Phase::Forward, 512, 512, 512), 512 * 16);
  EXPECT_GT(workspaceOf("r", Phase::Backward, 512, 512, 512), 512 * 16);
  EXPECT_EQ(workspaceOf("r", Phase::Forward, 512, 512, 512), 0) << "queries are read once";
  EXPECT_EQ(workspaceOf("c", Phase::Backward, 512, 512, 512), 0) << "keys are read once";
  EXPECT_EQ(workspaceOf("c", Phase::Forward, 256, 256, 512), 0) << "too few to pay";
  EXPECT_GT(workspaceOf("c", Phase::Forward, 256, 256, 1024), 256 * 16) << "one set of L1";
  EXPECT_EQ(workspaceOf("c", Phase::Forward, 512, 512, 512 + 4), 0);
  EXPECT_EQ(workspaceOf("c", Phase::Forward, 512, 512, 4), 0) << "contiguous";
  EXPECT_EQ(workspaceOf("c", Phase::Forward, 4096, 1, 512), 0) << "every key is read once";
}
