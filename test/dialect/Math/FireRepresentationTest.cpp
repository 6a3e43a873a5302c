//===- FireRepresentationTest.cpp - Networks against known biases ---------===//
//
// Compares sums over units in float64 at t = d / N, rounded to f32, with the definition of the
// bias.
//
//===----------------------------------------------------------------------===//

#include "dialect/Math/FireRepresentation.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir::pe;

namespace {

template <typename Activation>
double evaluate(const HiddenLayer &layer, int64_t head, double t, Activation activation) {
  const size_t units = layer.w1.size();
  double sum = layer.b2[head];
  for (size_t unit = 0; unit < units; ++unit)
    sum += layer.w2[head * units + unit] *
           activation(static_cast<double>(layer.w1[unit]) * t + layer.b1[unit]);
  return sum;
}

TEST(FireRepresentation, StepsAreTheTableBitForBit) {
  const std::vector<int64_t> starts = {1, 2, 3, 3, 7, 40, 700}; // an empty bucket at 3
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 1);
  for (double length : {1000.0, 777.0, 65536.0}) {
    std::vector<float> table((starts.size() + 1) * 3);
    for (float &entry : table)
      entry = normal(random) * (&entry == &table[5] ? 1e-5f : 1.0f);
    const HiddenLayer layer = representSteps(starts, table, 3, length);
    for (int64_t d = 0; d <= static_cast<int64_t>(length); d += d < 1000 ? 1 : 997) {
      const double t = static_cast<float>(d) / static_cast<float>(length);
      const auto row =
          std::count_if(starts.begin(), starts.end(), [&](int64_t s) { return s <= d; });
      for (int64_t head = 0; head < 3; ++head)
        ASSERT_EQ(static_cast<float>(
                      evaluate(layer, head, t, [](double x) { return x > 0 ? 1.0 : 0.0; })),
                  table[row * 3 + head])
            << "distance " << d << " of " << length;
    }
  }
}

TEST(FireRepresentation, CosinesKeepTheirPhase) {
  const std::vector<float> amplitudes = {1.0f, -2.5f};
  const double length = 3000;
  const HiddenLayer layer = representCosines(64, 10000, amplitudes, length);
  ASSERT_EQ(layer.w1.size(), 128U);
  double worst = 0, plain = 0;
  for (int64_t d = 0; d <= 3000; ++d) {
    double expected = 0, rounded = 0;
    for (int64_t k = 1; k <= 64; ++k) {
      const double frequency = std::pow(10000, -static_cast<double>(k) / 64);
      expected += std::cos(d * frequency);
      rounded += std::cos(d / length * static_cast<float>(length * frequency));
    }
    for (int64_t head = 0; head < 2; ++head)
      worst = std::max(
          worst, std::abs(amplitudes[head] * expected -
                          evaluate(layer, head, d / length, [](double x) { return std::cos(x); })));
    plain = std::max(plain, std::abs(expected - rounded));
  }
  EXPECT_LT(worst, 1e-5);      // of 160, because of f32 amplitudes
  EXPECT_GT(plain, 10 * 1e-5); // with one rounded frequency per term
}

TEST(FireRepresentation, SlopesMatchAtTheLength) {
  for (double d : {0.0, 1.0, 17.0, 500.0}) {
    EXPECT_NEAR(representLogSlope(-0.7, -0.3, 500) * (std::log1p(0.3 * d) / std::log1p(0.3 * 500)),
                -0.7 * std::log1p(0.3 * d), 1e-12);
    EXPECT_NEAR(representPowerSlope(1.3, 0.4, 500) * std::pow(d / 500, 0.4), 1.3 * std::pow(d, 0.4),
                1e-12);
  }
  EXPECT_EQ(geometricSlope(0, 8), 0.5);
  EXPECT_EQ(geometricSlope(7, 8), 0x1p-8);
  // Six heads have the slopes of four heads, then the first and third slopes of eight.
  EXPECT_EQ(interleavedSlope(3, 6), 0x1p-8);
  EXPECT_EQ(interleavedSlope(4, 6), 0.5);
  EXPECT_EQ(interleavedSlope(5, 6), 0.125);
}

TEST(FireRepresentation, TwoFloatsHoldMoreThanOne) {
  for (double value : {0.1, -3.7e5, 1.0 / 3, 0.0}) {
    const auto [high, low] = splitInTwo(value);
    EXPECT_LE(std::abs(value - (static_cast<double>(high) + low)), std::abs(value) * 0x1p-48);
  }
}

} // namespace
