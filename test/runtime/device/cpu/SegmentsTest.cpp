//===- SegmentsTest.cpp - Pieces of chains of maps ------------------------===//
//
// Compares networks, evaluated in double at many points, with their pieces, for weights at
// initialization, after training, and in extreme cases.
//
//===----------------------------------------------------------------------===//
#include "SegmentNetworks.h"
#include "runtime/device/library/FindSegments.h"

#include <gtest/gtest.h>

using namespace pe::test;

namespace {

/// Values of a chain of relus at its knots, including the ends of the interval.
struct Segments {
  std::vector<double> knots;  // [n], ascending
  std::vector<double> values; // [n][outputs]
  int64_t outputs = 0;

  int64_t count() const { return static_cast<int64_t>(knots.size()) - 1; }
  double value(int64_t knot, int64_t output) const { return values[knot * outputs + output]; }
  double slope(int64_t segment, int64_t output) const {
    return (value(segment + 1, output) - value(segment, output)) /
           (knots[segment + 1] - knots[segment]);
  }
};

Segments findSegments(const Network &network, double low, double high) {
  constexpr int64_t kMaxKnots = 2000, kMaxWidth = 80;
  const std::vector<Link> links = network.view();
  std::vector<double> scratch(pe::segments::sweepScratch(1, kMaxWidth, kMaxKnots));
  pe::segments::KinkFinder<pe::cpu::HostPlatform> kinks({}, links.data(), links.size(), kMaxKnots,
                                                        scratch.data());
  EXPECT_TRUE(kinks.run(low, high));
  const pe::segments::Sweep &found = kinks.result();
  return {{found.knots, found.knots + found.count},
          {found.values, found.values + found.count * found.width},
          found.width};
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
  Segments s = findSegments(network, low, high);
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
    one += findSegments(draw(random, {32}, 12), 0, 1).count() / 300.0;
    two += findSegments(draw(random, {32, 32}, 12), 0, 1).count() / 300.0;
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
  EXPECT_EQ(findSegments(network, 0, 1).count(), 1);
  Segments both = findSegments(network, -1, 1);
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
  EXPECT_LE(findSegments(network, 0, 1).count(), 3);
  expectExact(network, 0, 1, random, 5e-15); // terms of the second layer nearly cancel
}

TEST(SegmentsTest, findsAllPiecesOfTheWorstKnownNetwork) {
  std::mt19937_64 random(7);
  Network network = zigzag();
  EXPECT_EQ(findSegments(network, 0, 1).count(), 1056);
  EXPECT_EQ(network.bound(), 1089);
  expectExact(network, 0, 1, random, 1e-13); // terms of 32 times the output's size cancel
}

// Up to 64 units have their roots sorted; with more, the next root is searched. Units without a
// root do not change the knots.
TEST(SegmentsTest, sortsAndSearchesTheSameRoots) {
  std::mt19937_64 random(12);
  for (int i = 0; i < 20; ++i) {
    Network network = draw(random, {32}, 4), wide = network;
    network.layers[0].weight[3] = network.layers[0].weight[7]; // two units with one root
    network.layers[0].bias[3] = network.layers[0].bias[7];
    Network::Layer &units = wide.layers[0], &outputs = wide.layers[1];
    units = network.layers[0];
    units.weight.resize(80, 0.0f);
    units.bias.resize(80, 1.0f);
    units.outputs = outputs.inputs = 80;
    std::vector<float> weight(4 * 80, 0.0f);
    for (int o = 0; o < 4; ++o)
      std::copy_n(network.layers[1].weight.begin() + o * 32, 32, weight.begin() + o * 80);
    outputs.weight = weight;
    const Segments sorted = findSegments(network, -4, 4), searched = findSegments(wide, -4, 4);
    EXPECT_GT(sorted.count(), 5);
    EXPECT_EQ(sorted.knots, searched.knots);
    EXPECT_EQ(sorted.values, searched.values);
  }
}

TEST(SegmentsTest, staysExactNearZeroOnAHugeRange) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 40; ++i) {
    Network network = draw(random, {32, 32}, 12);
    Segments s = findSegments(network, 0, 1e7);
    // Kinks closer than 4e-8 may have been merged.
    EXPECT_LE(largestError(network, s, 0, 1e7, random, 1.0), 1e-7);
  }
}

TEST(SegmentsTest, FinalReluAddsKinks) {
  std::mt19937_64 random(25);
  for (int i = 0; i < 20; ++i) {
    Network network = draw(random, {32}, 8);
    network.last = Function::Relu;
    Segments s = findSegments(network, 0, 1);
    EXPECT_LE(largestError(network, s, 0, 1, random, 1), 2e-15);
    EXPECT_LE(s.count(), 33 * 9);
  }
}

/// Scratch memory of NaN. Users must write its last element, but nothing after it.
struct Scratch {
  explicit Scratch(int64_t size) : memory(size + 1, NAN) {}
  void expectAllUsed() const {
    EXPECT_FALSE(std::isnan(memory.end()[-2]));
    EXPECT_TRUE(std::isnan(memory.end()[-1]));
  }
  std::vector<double> memory;
};

TEST(SegmentsTest, ScratchMemoryHasTheStatedSize) {
  std::mt19937_64 random(26);
  const Network network = draw(random, {16}, 16);
  const std::vector<Link> links = network.view();
  const int64_t knots = findSegments(network, 0, 1).knots.size();
  Scratch ofSweeps(pe::segments::sweepScratch<int64_t>(1, 16, knots));
  pe::segments::KinkFinder<pe::cpu::HostPlatform> kinks({}, links.data(), links.size(), knots,
                                                        ofSweeps.memory.data());
  EXPECT_TRUE(kinks.run(0, 1));
  ofSweeps.expectAllUsed();

  Network waves = draw(random, {16}, 16, /*gain=*/200);
  waves.inner = Function::Cos;
  const std::vector<Link> smooth = waves.view();
  constexpr int64_t kPieces = 4096;
  Scratch ofCubics(pe::segments::refineScratch<int64_t>(1, 16, kPieces + 1));
  pe::segments::Refiner<pe::cpu::HostPlatform> refiner({}, smooth.data(), smooth.size(), 16,
                                                       kPieces, 1e-5, ofCubics.memory.data());
  const double ends[] = {0, 1};
  EXPECT_TRUE(refiner.run(ends, 1));
  EXPECT_GE(refiner.count(), pe::segments::kBatch);
  ofCubics.expectAllUsed();
}

} // namespace
