//===- SegmentsTest.cpp - Pieces of chains of maps ------------------------===//
//
// Compares networks, evaluated in double at many points, with their pieces, for weights at
// initialization, after training, and in extreme cases.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/Segments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace {

using pe::cpu::Segments;
using pe::segments::Function;
using pe::segments::Link;

double apply(Function function, double x) {
  switch (function) {
  case Function::Identity:
    return x;
  case Function::Relu:
    return std::max(x, 0.0);
  case Function::Gelu:
    return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
  case Function::Tanh:
    return std::tanh(x);
  case Function::Silu:
    return x / (1 + std::exp(-x));
  case Function::Cos:
    return std::cos(x);
  case Function::Step:
    return x > 0 ? 1 : 0;
  }
  return x;
}

struct Network {
  struct Layer {
    std::vector<float> weight, bias;
    int64_t outputs, inputs;
  };
  std::vector<Layer> layers;
  Function inner = Function::Relu, last = Function::Identity;

  std::vector<Link> view() const {
    std::vector<Link> result;
    for (const Layer &l : layers) {
      const Function function = result.size() + 1 == layers.size() ? last : inner;
      result.push_back(
          {l.weight.data(), l.bias.data(), l.outputs, l.inputs, static_cast<int64_t>(function)});
    }
    return result;
  }

  int64_t bound() const {
    int64_t product = 1;
    for (size_t l = 0; l + 1 < layers.size(); ++l)
      product *= layers[l].outputs + 1;
    return product;
  }

  std::vector<double> operator()(double t) const {
    std::vector<double> h = {t};
    for (size_t l = 0; l < layers.size(); ++l) {
      std::vector<double> z(layers[l].bias.begin(), layers[l].bias.end());
      for (int64_t o = 0; o < layers[l].outputs; ++o)
        for (int64_t i = 0; i < layers[l].inputs; ++i)
          z[o] += double(layers[l].weight[o * layers[l].inputs + i]) * h[i];
      for (double &x : z)
        x = apply(l + 1 < layers.size() ? inner : last, x);
      h = z;
    }
    return h;
  }
};

/// Draws weights uniformly from +-1/sqrt(inputs), like PyTorch's Linear, times `gain`.
Network draw(std::mt19937_64 &random, std::vector<int64_t> widths, int64_t heads,
             double gain = 1.0) {
  Network network;
  widths.push_back(heads);
  int64_t inputs = 1;
  for (int64_t outputs : widths) {
    double bound = gain / std::sqrt(double(inputs));
    std::uniform_real_distribution<double> uniform(-bound, bound);
    Network::Layer layer{std::vector<float>(outputs * inputs), std::vector<float>(outputs), outputs,
                         inputs};
    for (float &x : layer.weight)
      x = float(uniform(random));
    for (float &x : layer.bias)
      x = float(uniform(random));
    network.layers.push_back(layer);
    inputs = outputs;
  }
  return network;
}

double evaluate(const Segments &s, double t, int64_t head) {
  auto next = std::upper_bound(s.knots.begin() + 1, s.knots.end() - 1, t);
  int64_t k = next - s.knots.begin() - 1;
  return s.value(k, head) + s.slope(k, head) * (t - s.knots[k]);
}

/// Returns the largest difference from the network relative to its largest value on the interval,
/// at random points and at points next to every knot.
double largestError(const Network &network, const Segments &s, double low, double high,
                    std::mt19937_64 &random, double upTo) {
  std::uniform_real_distribution<double> uniform(low, std::min(high, upTo));
  std::vector<double> points(300);
  for (double &t : points)
    t = uniform(random);
  for (double knot : s.knots)
    if (knot <= upTo)
      points.insert(points.end(), {knot, std::nextafter(knot, low), std::nextafter(knot, high)});
  double error = 0, largest = 0;
  for (double t : points) {
    std::vector<double> exact = network(t);
    for (int64_t head = 0; head < s.outputs; ++head) {
      error = std::max(error, std::abs(exact[head] - evaluate(s, t, head)));
      largest = std::max(largest, std::abs(exact[head]));
    }
  }
  return largest > 0 ? error / largest : error;
}

void expectExact(const Network &network, double low, double high, std::mt19937_64 &random,
                 double tolerance = 2e-15) {
  Segments s = pe::cpu::findSegments(network.view(), low, high);
  EXPECT_EQ(s.knots.front(), low);
  EXPECT_EQ(s.knots.back(), high);
  EXPECT_LE(s.count(), network.bound());
  for (int64_t k = 0; k < s.count(); ++k)
    EXPECT_LT(s.knots[k], s.knots[k + 1]);
  EXPECT_LE(largestError(network, s, low, high, random, high), tolerance);
}

TEST(SegmentsTest, reproducesNetworksAsDrawn) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 60; ++i) {
    expectExact(draw(random, {32}, 12), 0, 1, random);
    expectExact(draw(random, {32, 32}, 12), 0, 1.7, random);
    expectExact(draw(random, {16, 8, 8}, 3), -1, 1, random);
    expectExact(draw(random, {}, 4), 0, 1, random);
  }
}

TEST(SegmentsTest, countsAgreeWithPublishedMeans) {
  // Measured over 2000 networks: 9.0 pieces on [0, 1] for one hidden layer of 32, 16.6 for two.
  std::mt19937_64 random(2);
  double one = 0, two = 0;
  for (int i = 0; i < 300; ++i) {
    one += pe::cpu::findSegments(draw(random, {32}, 12).view(), 0, 1).count() / 300.0;
    two += pe::cpu::findSegments(draw(random, {32, 32}, 12).view(), 0, 1).count() / 300.0;
  }
  EXPECT_NEAR(one, 9.0, 0.6);
  EXPECT_NEAR(two, 16.6, 1.2);
}

TEST(SegmentsTest, reproducesSteepAndTinyNetworks) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 40; ++i)
    for (double gain : {4.0, 1e4, 1e-4})
      expectExact(draw(random, {32, 32}, 12, gain), 0, 1, random);
}

TEST(SegmentsTest, reproducesTernaryWeights) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 60; ++i) {
    Network network = draw(random, {32, 32}, 12);
    for (Network::Layer &layer : network.layers)
      for (std::vector<float> *values : {&layer.weight, &layer.bias})
        for (float &x : *values)
          x = float(int(random() % 3) - 1);
    expectExact(network, 0, 1, random);
  }
}

TEST(SegmentsTest, withoutBiasesOnlyZeroIsAKink) {
  std::mt19937_64 random(5);
  Network network = draw(random, {32, 32}, 12);
  for (Network::Layer &layer : network.layers)
    std::fill(layer.bias.begin(), layer.bias.end(), 0.0f);
  EXPECT_EQ(pe::cpu::findSegments(network.view(), 0, 1).count(), 1);
  Segments both = pe::cpu::findSegments(network.view(), -1, 1);
  ASSERT_EQ(both.count(), 2);
  EXPECT_NEAR(both.knots[1], 0.0, 4e-15);
  expectExact(network, -1, 1, random);
}

TEST(SegmentsTest, equalUnitsShareTheirKink) {
  std::mt19937_64 random(6);
  Network network = draw(random, {32, 32}, 12);
  for (Network::Layer &layer : network.layers) {
    for (int64_t o = 0; o < layer.outputs; ++o) {
      layer.bias[o] = layer.inputs == 1 ? -0.3f : -0.1f;
      for (int64_t i = 0; i < layer.inputs; ++i)
        layer.weight[o * layer.inputs + i] = layer.inputs == 1 ? 1.0f : 0.01f;
    }
  }
  EXPECT_LE(pe::cpu::findSegments(network.view(), 0, 1).count(), 3);
  expectExact(network, 0, 1, random, 5e-15); // terms of the second layer nearly cancel
}

/// The first hidden layer is a zigzag of 32 pieces between 0 and 1. Each of the 32 units of the
/// second layer cuts every piece, which gives 32 * 33 segments.
Network zigzag() {
  Network network;
  Network::Layer first{{}, {}, 32, 1}, second{{}, {}, 32, 32}, last{{}, {0.0f}, 1, 32};
  for (int k = 0; k < 32; ++k) {
    first.weight.push_back(1.0f);
    first.bias.push_back(float(-k) / 32);
  }
  for (int unit = 0; unit < 32; ++unit) {
    for (int k = 0; k < 32; ++k)
      second.weight.push_back(k == 0 ? 32.0f : k % 2 ? -64.0f : 64.0f);
    second.bias.push_back(-(float(unit) + 0.5f) / 32);
    last.weight.push_back(unit % 2 ? -1.0f : 1.0f);
  }
  network.layers = {first, second, last};
  return network;
}

TEST(SegmentsTest, findsAllPiecesOfTheWorstKnownNetwork) {
  std::mt19937_64 random(7);
  Network network = zigzag();
  EXPECT_EQ(pe::cpu::findSegments(network.view(), 0, 1).count(), 1056);
  EXPECT_EQ(network.bound(), 1089);
  expectExact(network, 0, 1, random, 1e-13); // terms of 32 times the output's size cancel
}

TEST(SegmentsTest, staysExactNearZeroOnAHugeRange) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 40; ++i) {
    Network network = draw(random, {32, 32}, 12);
    Segments s = pe::cpu::findSegments(network.view(), 0, 1e7);
    // Kinks closer than 4e-8 may have been merged.
    EXPECT_LE(largestError(network, s, 0, 1e7, random, 1.0), 1e-7);
  }
}

//===- The C entry point ------------------------------------------------------===//

/// An argument block followed by its links, and tables surrounded by guard elements.
struct Call {
  Call(const Network &network, std::vector<float> u, std::vector<float> v, int64_t heads,
       int64_t capacity, int64_t degree = 1, double tolerance = 1e-5)
      : u(std::move(u)), v(std::move(v)), knots(capacity + 3, kGuard),
        coefficients(heads * capacity * (degree + 1) + 2, kGuard), capacity(capacity),
        degree(degree) {
    std::vector<Link> links = network.view();
    block.resize((sizeof(PeFindSegments) + links.size() * sizeof(Link)) / 8);
    PeFindSegments call = {this->u.data(),
                           1,
                           int64_t(this->u.size()),
                           int64_t(this->u.size()),
                           this->v.data(),
                           int64_t(this->v.size()),
                           knots.data() + 1,
                           coefficients.data() + 1,
                           &count,
                           heads,
                           capacity,
                           degree,
                           tolerance,
                           int64_t(links.size())};
    std::memcpy(block.data(), &call, sizeof call);
    std::memcpy(block.data() + sizeof call / 8, links.data(), links.size() * sizeof(Link));
  }
  void run() { pe_find_segments(reinterpret_cast<const PeFindSegments *>(block.data())); }

  /// Returns the end of piece `index` - 1, or the start of the first piece for index 0.
  float knot(int64_t index) const { return knots[1 + index]; }
  float coefficient(int64_t head, int64_t piece, int64_t power) const {
    return coefficients[1 + (head * capacity + piece) * (degree + 1) + power];
  }
  int64_t pieceOf(float t) const {
    int64_t k = 0;
    for (int32_t z = 1; z < count; ++z)
      k += knot(z) < t;
    return k;
  }
  float value(int64_t head, float t) const {
    const int64_t k = pieceOf(t);
    const float x = degree > 1 ? t - 0.5f * (knot(k) + knot(k + 1)) : t;
    float value = 0;
    for (int64_t power = degree; power >= 0; --power)
      value = value * x + coefficient(head, k, power);
    return value;
  }
  double slope(int64_t head, float t) const {
    const int64_t k = pieceOf(t);
    const double x = degree > 1 ? t - 0.5f * (knot(k) + knot(k + 1)) : t;
    double value = 0;
    for (int64_t power = degree; power > 0; --power)
      value = value * x + double(power) * coefficient(head, k, power);
    return value;
  }
  bool guardsStand() const {
    return knots.front() == kGuard && knots.back() == kGuard && coefficients.front() == kGuard &&
           coefficients.back() == kGuard;
  }

  static constexpr float kGuard = 12345.0f;
  std::vector<float> u, v, knots, coefficients;
  int64_t capacity, degree;
  int32_t count = -1;
  std::vector<int64_t> block;
};

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

TEST(FindSegmentsTest, layersThatDoNotFitAreLoud) {
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

TEST(FindSegmentsTest, damagedWeightsShowInTheValue) {
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

//===- Other functions ---------------------------------------------------------===//

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

TEST(SmoothSegmentsTest, tooManyPiecesAreNone) {
  std::mt19937_64 random(23);
  Network network = draw(random, {32}, 4, 30.0);
  network.inner = Function::Cos;
  Call call(network, {0.0f, 1.0f}, {1.0f}, 4, 16, 3);
  call.run();
  EXPECT_EQ(call.count, 0);
  EXPECT_EQ(call.value(3, 0.5f), 0);
  EXPECT_TRUE(call.guardsStand());
}

TEST(SmoothSegmentsTest, damagedWeightsShowInTheValue) {
  std::mt19937_64 random(24);
  Network network = draw(random, {8}, 2);
  network.inner = Function::Gelu;
  network.layers[0].weight[3] = std::nanf("");
  Call call(network, {0.0f, 1.0f}, {1.0f}, 2, 64, 3);
  call.run();
  EXPECT_TRUE(std::isnan(call.value(1, 0.5f)));
}

TEST(SegmentsTest, aLastReluHasKinksOfItsOwn) {
  std::mt19937_64 random(25);
  for (int i = 0; i < 20; ++i) {
    Network network = draw(random, {32}, 8);
    network.last = Function::Relu;
    Segments s = pe::cpu::findSegments(network.view(), 0, 1);
    EXPECT_LE(largestError(network, s, 0, 1, random, 1), 2e-15);
    EXPECT_LE(s.count(), 33 * 9);
  }
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
