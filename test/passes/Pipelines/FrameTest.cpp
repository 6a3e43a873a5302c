//===- FrameTest.cpp - declared sizes and parameters reach the stages -----===//
//
// The plan below declares a size and two parameters. On every target its stages read the values
// that the call sets, or the defaults, although no code between the plan and the stages names them.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipelines/PlanRunner.h"
#include "runtime/device/cpu/ThreadPool.h"

#include <gtest/gtest.h>

using namespace pe;
using namespace pe::test;

namespace {

constexpr const char *kPlan = R"(
tile.plan @affine attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  tile.extent "m"
  tile.parameter "factor" default "2 * m"
  tile.parameter "shift" default "factor - 100"
  %X = tile.buffer "x" argument : !tile.buffer<[b, m], f32>
  %Y = tile.buffer "y" result : !tile.buffer<[b, m], f32>
  tile.stage @affine forward over ["b"] {
    %factor = tile.size "factor" : index
    %shift = tile.size "shift" : index
    tile.foreach over ["m"] {
    ^bb0(%b: index, %i: index):
      %x = tile.read %X[%b, %i] inbounds : !tile.buffer<[b, m], f32> -> f32
      %0 = arith.index_cast %factor : index to i32
      %1 = arith.sitofp %0 : i32 to f32
      %2 = arith.index_cast %shift : index to i32
      %3 = arith.sitofp %2 : i32 to f32
      %4 = arith.mulf %x, %1 : f32
      %5 = arith.addf %4, %3 : f32
      tile.write %5, %Y[%b, %i] : f32 -> !tile.buffer<[b, m], f32>
      tile.yield
    }
  }
}
)";

std::shared_ptr<const device::Runner> compile(const std::string &target) {
  return PlanRunner(kPlan, target, /*isTile=*/true).makeRunner();
}

class FrameTest : public testing::TestWithParam<const char *> {
protected:
  std::vector<float> run(const plan::Scalars &scalars) {
    Tensor x = Tensor::zeros(DType::F32, {2, 3});
    for (int64_t i = 0; i < x.numel(); ++i)
      x.data<float>()[i] = static_cast<float>(i);
    const auto call = take(runner->forward({{"x", x}}, scalars, pool));
    const std::span<const float> y = call->results().at("y").values<float>();
    return {y.begin(), y.end()};
  }

  cpu::ThreadPool pool{{.threads = 2}};
  std::shared_ptr<const device::Runner> runner = compile(GetParam());
};

} // namespace

TEST_P(FrameTest, Defaults) {
  EXPECT_EQ(run({}), (std::vector<float>{-94, -88, -82, -76, -70, -64})); // 6 x + (6 - 100)
}

TEST_P(FrameTest, ValuesOfTheCall) {
  plan::Scalars scalars;
  scalars.set("shift", -7);
  EXPECT_EQ(run(scalars), (std::vector<float>{-7, -1, 5, 11, 17, 23}));
  scalars.set("factor", 10);
  EXPECT_EQ(run(scalars), (std::vector<float>{-7, 3, 13, 23, 33, 43}));
}

TEST_P(FrameTest, UnknownParametersAreRefused) {
  plan::Scalars scalars;
  scalars.set("q_start", 1);
  const auto call = runner->forward({{"x", Tensor::zeros(DType::F32, {2, 3})}}, scalars, pool);
  ASSERT_FALSE(call);
  EXPECT_EQ(call.error().getMessage(), "expected the parameters factor, shift, found 'q_start'");
}

INSTANTIATE_TEST_SUITE_P(Targets, FrameTest, testing::Values("loops", "cpu", "gpu-emulator"),
                         nameOfTarget);
