//===- SegmentTablesTest.cpp - Tables of pieces in f32 --------------------===//
//
// Tests of the C entry point, pe_find_segments: constant, linear and cubic pieces.
//
//===----------------------------------------------------------------------===//
#include "SegmentNetworks.h"

#include <gtest/gtest.h>

using namespace pe::test;

namespace {

TEST(FindSegmentsTest, tablesReproduceTheNetworkInSinglePrecision) {
  std::mt19937_64 random(9);
  for (int i = 0; i < 40; ++i) {
    Network network = draw(random, {32, 32}, 4, 3.0);
    Call call(network, {0.0f, 2.0f, 1.0f}, {0.1f, 0.5f}, 4, network.bound());
    call.run();
    ASSERT_GT(call.count, 1);
    EXPECT_TRUE(call.guardsStand());
    for (float t = 0; t <= 1; t += 0.0037f) {
      std::vector<double> exact = network(t);
      double steepest = 0, largest = 0;
      for (int64_t head = 0; head < 4; ++head) {
        largest = std::max(largest, std::abs(exact[head]));
        for (int32_t k = 0; k < call.count; ++k)
          steepest = std::max<double>(steepest, std::abs(call.coefficient(head, k, 1)));
      }
      for (int64_t head = 0; head < 4; ++head)
        EXPECT_NEAR(call.value(head, t), exact[head], 2.5e-7 * (steepest + largest));
    }
  }
}

TEST(FindSegmentsTest, oneOutputServesAllHeads) {
  std::mt19937_64 random(10);
  Network network = draw(random, {8}, 1);
  Call call(network, {1.0f, 0.0f}, {1.0f}, 3, 9);
  call.run();
  for (int64_t head = 0; head < 3; ++head)
    EXPECT_NEAR(call.value(head, 0.6f), network(0.6f)[0], 1e-6);
}

TEST(FindSegmentsTest, coversProductsOfBothSigns) {
  Network network{{{{1.0f, 1.0f}, {5.0f, -5.0f}, 2, 1}, {{1.0f, 1.0f}, {0.0f}, 1, 2}}};
  Call call(network, {-3.0f, 1.0f, std::nanf("")}, {2.0f, -2.0f, INFINITY}, 1, 3);
  call.run();
  // u * v is in [-6, 6], with kinks at -5 and 5.
  ASSERT_EQ(call.count, 3);
  EXPECT_FLOAT_EQ(call.knot(1), -5.0f);
  EXPECT_FLOAT_EQ(call.knot(2), 5.0f);
}

TEST(FindSegmentsTest, anEmptyRangeIsOneSegment) {
  std::mt19937_64 random(11);
  Network network = draw(random, {8}, 2);
  for (auto [u, v] : {std::pair<std::vector<float>, std::vector<float>>{{}, {}},
                      {{1.0f}, {}},
                      {{std::nanf("")}, {1.0f}}}) {
    Call call(network, u, v, 2, 9);
    call.run();
    EXPECT_EQ(call.count, 1);
    EXPECT_NEAR(call.value(1, 0.0f), network(0.0)[1], 1e-6);
  }
}

TEST(FindSegmentsTest, aSinglePointKeepsItsSlope) {
  Network network{{{{1.0f}, {-1.0f}, 1, 1}, {{3.0f}, {0.5f}, 1, 1}}};
  Call call(network, {2.0f}, {1.0f}, 1, 2);
  call.run();
  ASSERT_EQ(call.count, 1);
  EXPECT_FLOAT_EQ(call.coefficient(0, 0, 1), 3.0f);
  EXPECT_FLOAT_EQ(call.value(0, 2.0f), 3.5f);
}

TEST(FindSegmentsTest, tablesTooSmallHoldNoPieces) {
  Network network = zigzag();
  Call call(network, {0.0f, 1.0f}, {1.0f}, 1, 1055);
  call.run();
  EXPECT_EQ(call.count, 0);
  EXPECT_EQ(call.value(0, 0.5f), 0);
  EXPECT_TRUE(call.guardsStand());
  Call enough(network, {0.0f, 1.0f}, {1.0f}, 1, 1056);
  enough.run();
  EXPECT_EQ(enough.count, 1056);
  EXPECT_TRUE(enough.guardsStand());
}

TEST(FindSegmentsTest, MismatchedLayersGiveNan) {
  std::mt19937_64 random(12);
  Network network = draw(random, {8, 8}, 2);
  Call heads(network, {1.0f}, {1.0f}, 3, 81);
  heads.run();
  EXPECT_TRUE(std::isnan(heads.value(2, 0.5f)));
  network.layers[1].inputs = 7;
  Call inputs(network, {1.0f}, {1.0f}, 2, 81);
  inputs.run();
  EXPECT_TRUE(std::isnan(inputs.value(0, 0.5f)));
}

TEST(FindSegmentsTest, NonFiniteWeightsPropagate) {
  std::mt19937_64 random(13);
  Network network = draw(random, {8, 8}, 2);
  network.layers[1].weight[3] = std::nanf("");
  Call nan(network, {0.0f, 1.0f}, {1.0f}, 2, 81);
  nan.run();
  EXPECT_TRUE(std::isnan(nan.value(0, 0.5f)));
  network.layers[1].weight[3] = INFINITY;
  Call infinite(network, {0.0f, 1.0f}, {1.0f}, 2, 81);
  infinite.run();
  EXPECT_TRUE(infinite.guardsStand());
}

/// Checks at 4000 points that values are within `tolerance` and slopes, except next to kinks,
/// within 3e-4 of the largest slope of the head in [low, high].
void expectClose(const Network &network, const Call &call, int64_t heads, double tolerance,
                 double low = 0, double high = 1) {
  const double step = 1e-5;
  std::vector<double> steepest(heads), slopeError(heads);
  for (int i = 0; i <= 400; ++i) {
    const double t = low + (high - low) * i / 400;
    std::vector<double> before = network(t - step), after = network(t + step);
    for (int64_t head = 0; head < heads; ++head)
      steepest[head] = std::max(steepest[head], std::abs(after[head] - before[head]) / (2 * step));
  }
  for (int i = 1; i < 4000; ++i) {
    const float t = float(i) / 4000;
    std::vector<double> exact = network(t), before = network(t - step), after = network(t + step);
    float distance = 1;
    for (int32_t z = 0; z <= call.count; ++z)
      distance = std::min(distance, std::abs(call.knot(z) - t));
    for (int64_t head = 0; head < heads; ++head) {
      const double slope = (after[head] - before[head]) / (2 * step);
      steepest[head] = std::max(steepest[head], std::abs(slope));
      EXPECT_NEAR(call.value(head, t), exact[head], tolerance + 1e-6 * std::abs(exact[head])) << t;
      if (distance > 2 * step)
        slopeError[head] = std::max(slopeError[head], std::abs(call.slope(head, t) - slope));
    }
  }
  for (int64_t head = 0; head < heads; ++head)
    EXPECT_LE(slopeError[head], 3e-4 * steepest[head]) << "head " << head;
}

TEST(SmoothSegmentsTest, cubicsAreWithinTheTolerance) {
  std::mt19937_64 random(20);
  for (Function inner : {Function::Gelu, Function::Tanh, Function::Silu, Function::Cos})
    for (double gain : {0.1, 1.0, 6.0})
      for (std::vector<int64_t> widths : {std::vector<int64_t>{32}, {8, 8}}) {
        Network network = draw(random, widths, 4, gain);
        network.inner = inner;
        Call call(network, {0.0f, 1.0f}, {1.0f}, 4, 256, 3);
        call.run();
        ASSERT_GT(call.count, 0) << static_cast<int64_t>(inner) << " times " << gain;
        EXPECT_TRUE(call.guardsStand());
        expectClose(network, call, 4, 1.2e-5);
      }
}

/// The normalizer of a row whose keys are masked may be 1e-6. The range of products then reaches to
/// 1e6, while the arguments of all other rows are in its first millionth.
TEST(SmoothSegmentsTest, findsBendsNearZeroOnAHugeRange) {
  std::mt19937_64 random(27);
  for (Function inner : {Function::Gelu, Function::Tanh, Function::Silu})
    for (float far : {3e6f, -3e6f})
      for (std::vector<int64_t> widths : {std::vector<int64_t>{9}, {9, 9}}) {
        Network network = draw(random, widths, 4);
        network.inner = inner;
        Call call(network, {0.0f, 1.0f, far}, {1.0f}, 4, 512, 3);
        call.run();
        ASSERT_GT(call.count, 1);
        // Errors of slopes are relative to the largest slope in the part of [-4, 4] in the range.
        expectClose(network, call, 4, 1.2e-5, far > 0 ? 0 : -4, far > 0 ? 4 : 1);
      }
}

TEST(SmoothSegmentsTest, aToleranceTenThousandTimesSmallerIsMet) {
  std::mt19937_64 random(21);
  Network network = draw(random, {8}, 2);
  network.inner = Function::Tanh;
  Call call(network, {0.0f, 1.0f}, {1.0f}, 2, 256, 3, 1e-9);
  call.run();
  EXPECT_GT(call.count, 4);
  expectClose(network, call, 2, 2e-7); // f32 coefficients
}

/// Kinks of earlier links, and zeros of the input of a last relu, are ends of pieces.
TEST(SmoothSegmentsTest, kinksAreEnds) {
  std::mt19937_64 random(22);
  for (int i = 0; i < 10; ++i) {
    Network before = draw(random, {16}, 4), after = draw(random, {16}, 4, 2.0);
    before.last = Function::Tanh;
    after.inner = Function::Gelu;
    after.last = Function::Relu;
    for (const Network *network : {&before, &after}) {
      Call call(*network, {0.0f, 1.0f}, {1.0f}, 4, 256, 3);
      call.run();
      ASSERT_GT(call.count, 0);
      expectClose(*network, call, 4, 1.2e-5);
    }
  }
}

TEST(SmoothSegmentsTest, TooManyPiecesGiveNoTable) {
  std::mt19937_64 random(23);
  Network network = draw(random, {32}, 4, 30.0);
  network.inner = Function::Cos;
  Call call(network, {0.0f, 1.0f}, {1.0f}, 4, 16, 3);
  call.run();
  EXPECT_EQ(call.count, 0);
  EXPECT_EQ(call.value(3, 0.5f), 0);
  EXPECT_TRUE(call.guardsStand());
}

TEST(SmoothSegmentsTest, NonFiniteWeightsPropagate) {
  std::mt19937_64 random(24);
  Network network = draw(random, {8}, 2);
  network.inner = Function::Gelu;
  network.layers[0].weight[3] = std::nanf("");
  Call call(network, {0.0f, 1.0f}, {1.0f}, 2, 64, 3);
  call.run();
  EXPECT_TRUE(std::isnan(call.value(1, 0.5f)));
}

TEST(SegmentsTest, stepsArePiecewiseConstant) {
  std::mt19937_64 random(26);
  for (auto [inner, last, widths] :
       {std::tuple(Function::Step, Function::Identity, std::vector<int64_t>{32}),
        {Function::Relu, Function::Step, {32}},
        {Function::Step, Function::Tanh, {16, 8}}}) {
    Network network = draw(random, widths, 4);
    network.inner = inner;
    network.last = last;
    Call call(network, {0.0f, 1.0f}, {1.0f}, 4, 512, 0);
    call.run();
    ASSERT_GT(call.count, 1);
    for (float t = 0.0003f; t < 1; t += 0.0017f)
      for (int64_t head = 0; head < 4; ++head)
        EXPECT_NEAR(call.value(head, t), network(t)[head], 1e-6);
  }
}

} // namespace
