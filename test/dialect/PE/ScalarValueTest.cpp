//===- ScalarValueTest.cpp - Values of coordinates and biases -------------===//
//
// Compares every op with its closed form in double (docs/encodings), at ordinary points and at edge
// cases: the diagonal, both sides, row 0, negative positions.
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/ScalarHarness.h"

#include <cmath>
#include <numeric>

namespace pe::test {
namespace {

const Point kPoints[] = {{0, 0},   {1, 0},     {5, 5},  {7, 3},  {3, 7},
                         {100, 0}, {2000, 13}, {-3, 2}, {-3, -9}};

double distanceOf(Point p) { return std::abs(static_cast<double>(p.query - p.key)); }

/// Compares with a tolerance relative to f32 rounding of a value of this magnitude.
void expectNear(double found, double expected, Point p) {
  EXPECT_NEAR(found, expected, 4e-6 * (std::abs(expected) + 1e-3))
      << "at i = " << p.query << ", j = " << p.key << ", h = " << p.head;
}

std::string constant(const std::string &name, double value, const std::string &type) {
  return "%" + name + " = arith.constant dense<" + std::to_string(value) + "> : " + type + "\n";
}

TEST(Coordinates, Positions) {
  ScalarHarness harness;
  for (Point p : kPoints) {
    EXPECT_EQ(harness.coordinate("%result = pe.distance", p), distanceOf(p));
    EXPECT_EQ(harness.coordinate("%result = pe.relative", p), p.query - p.key);
    EXPECT_EQ(harness.coordinate("%result = pe.query_position", p), p.query);
    EXPECT_EQ(harness.coordinate("%result = pe.key_position", p), p.key);
  }
  // The difference of far positions is exact although the positions themselves do not fit f32.
  Point far{(int64_t(1) << 29) + 1, int64_t(1) << 29};
  EXPECT_EQ(harness.coordinate("%result = pe.distance", far), 1.0);
}

TEST(Coordinates, LogDistanceTakesTheAbsoluteValueOfC) {
  ScalarHarness harness;
  for (double c : {0.1, -2.0, 0.0})
    for (Point p : kPoints)
      expectNear(harness.coordinate(constant("c", c, "tensor<f32>") +
                                        "%result = pe.log_distance c(%c : tensor<f32>)",
                                    p),
                 std::log(std::abs(c * distanceOf(p)) + 1), p);
}

TEST(Coordinates, Progressive) {
  ScalarHarness harness;
  const double c = -0.3, multiplier = -0.02, length = 512.0, epsilon = 1e-6;
  std::string parameters =
      constant("c", c, "tensor<f32>") + constant("m", multiplier, "tensor<f32>");
  auto u = [&](double x) { return std::log(std::abs(c * x) + 1); };
  for (Point p : kPoints) {
    double i = static_cast<double>(p.query), d = distanceOf(p);
    double n = std::max(i, std::abs(multiplier * length));
    expectNear(harness.coordinate(parameters +
                                      "%result = pe.progressive c(%c : tensor<f32>) threshold(%m : "
                                      "tensor<f32>) {initial_length = 512.0}",
                                  p),
               u(d) / (u(n) + epsilon), p);
    expectNear(
        harness.coordinate(parameters + "%result = pe.progressive threshold(%m : tensor<f32>)", p),
        d / (n + epsilon), p);
    expectNear(harness.coordinate(parameters + "%result = pe.progressive c(%c : tensor<f32>)", p),
               u(d) / (u(i) + epsilon), p);
    expectNear(harness.coordinate("%result = pe.progressive", p), d / (i + epsilon), p);
  }
  // Row 0 of a causal mask without a threshold.
  EXPECT_EQ(harness.coordinate("%result = pe.progressive", {0, 0}), 0.0);
}

TEST(Coordinates, ClampedLogIsConstantAboveTheThreshold) {
  ScalarHarness harness;
  for (Point p : kPoints) {
    double expected = std::min(std::log(1 + distanceOf(p)) / std::log(1 + std::exp(3.0)), 1.0);
    expectNear(harness.coordinate(constant("t", 3.0, "tensor<1xf32>") +
                                      "%result = pe.clamped_log threshold(%t : tensor<1xf32>)",
                                  p),
               expected, p);
  }
}

/// Computes the formula of the code of T5, in f32.
int referenceBucket(int64_t difference, int buckets, int maxDistance, bool bidirectional) {
  int offset = 0;
  int64_t x = std::max<int64_t>(difference, 0);
  if (bidirectional) {
    buckets /= 2;
    offset = difference < 0 ? buckets : 0;
    x = std::abs(difference);
  }
  int exact = buckets / 2;
  if (x < exact)
    return offset + static_cast<int>(x);
  float scaled = std::log(static_cast<float>(x) / static_cast<float>(exact)) /
                 static_cast<float>(std::log(static_cast<double>(maxDistance) / exact)) *
                 static_cast<float>(buckets - exact);
  return offset + std::min(exact + static_cast<int>(scaled), buckets - 1);
}

TEST(Coordinates, BucketAgreesWithTheFormulaEverywhere) {
  ScalarHarness harness;
  struct Case {
    int buckets, maxDistance;
    bool bidirectional;
  };
  for (Case c :
       {Case{32, 128, false}, {32, 128, true}, {64, 1000, false}, {7, 50, false}, {2, 3, false}}) {
    std::string op = "%result = pe.bucket {buckets = " + std::to_string(c.buckets) +
                     ", max_distance = " + std::to_string(c.maxDistance) +
                     ", bidirectional = " + (c.bidirectional ? "true}" : "false}");
    for (int64_t difference = -140; difference <= 1100; difference += difference < 140 ? 1 : 37)
      EXPECT_EQ(harness.coordinate(op, {difference, 0}),
                referenceBucket(difference, c.buckets, c.maxDistance, c.bidirectional))
          << op << " at i - j = " << difference;
  }
}

TEST(Biases, LinearWithSlopeAndIntercept) {
  ScalarHarness harness;
  for (Point p : kPoints)
    expectNear(harness.bias("%x = pe.relative\n"
                            "%s = arith.constant dense<[0.5, 0.25]> : tensor<2xf32>\n"
                            "%b = arith.constant dense<[1.0, -3.0]> : tensor<2xf32>\n"
                            "%result = pe.linear %x slope(%s : tensor<2xf32>) "
                            "intercept(%b : tensor<2xf32>) {factor = -2.0}",
                            {p.query, p.key, 1}),
               -2.0 * 0.25 * static_cast<double>(p.query - p.key) - 3.0, p);
}

double slopeOf(ScalarHarness &harness, const std::string &rule, int64_t head, int64_t start,
               int64_t total) {
  return harness.bias("%x = pe.distance\n%result = pe.linear %x {rule = #pe.slope_rule<" + rule +
                          ">}",
                      {1, 0, head, start, total});
}

TEST(Biases, SlopeRulesCountTheHeadsOfTheModel) {
  ScalarHarness harness;
  for (int64_t total : {1, 8, 12, 16, 20})
    for (int64_t head = 0; head < total; ++head) {
      double geometric = std::exp2(-8.0 * (head + 1) / total);
      EXPECT_NEAR(slopeOf(harness, "geometric", head, 0, total), geometric, 1e-7);
      // The same head as head 0 of a call whose heads start there.
      EXPECT_NEAR(slopeOf(harness, "geometric", 0, head, total), geometric, 1e-7);
      int64_t n = int64_t(1) << static_cast<int>(std::log2(total));
      double interleaved = head < n ? std::exp2(-8.0 * (head + 1) / n)
                                    : std::exp2(-8.0 * (2 * (head - n) + 1) / (2 * n));
      EXPECT_NEAR(slopeOf(harness, "interleaved", head, 0, total), interleaved, 1e-7);
    }
}

TEST(Biases, TableClampsAndPicksTheHead) {
  ScalarHarness harness;
  std::string body = "%x = pe.relative\n"
                     "%t = arith.constant dense<[[0., 1.], [10., 11.], [20., 21.]]> : "
                     "tensor<3x2xf32>\n%result = pe.table %x, %t : tensor<3x2xf32>";
  for (int64_t difference : {-5, 0, 1, 2, 3, 100})
    for (int64_t head : {0, 1})
      EXPECT_EQ(harness.bias(body, {difference, 0, head}),
                10.0 * std::clamp<int64_t>(difference, 0, 2) + head);
}

TEST(Biases, PowerIsZeroOnTheDiagonal) {
  ScalarHarness harness;
  for (double exponent : {0.5, 1.0, 2.3})
    for (Point p : kPoints) {
      double d = distanceOf(p);
      expectNear(harness.bias("%x = pe.distance\n" + constant("e", exponent, "tensor<1xf32>") +
                                  constant("s", 1.5, "tensor<f32>") +
                                  "%result = pe.power %x exponent(%e : tensor<1xf32>) "
                                  "slope(%s : tensor<f32>) {factor = -1.0}",
                              {p.query, p.key, 3}),
                 d == 0 ? 0.0 : -1.5 * std::pow(d, exponent), p);
    }
}

TEST(Biases, CosineSum) {
  ScalarHarness harness;
  for (Point p : {Point{0, 0}, {1, 0}, {7, 3}, {3, 7}, {100, 0}}) {
    double sum = 0;
    for (int k = 1; k <= 16; ++k)
      sum += std::cos(static_cast<double>(p.query - p.key) / std::pow(10000.0, k / 16.0));
    double found = harness.bias("%x = pe.relative\n" + constant("a", 0.5, "tensor<f32>") +
                                    "%result = pe.cosine_sum %x amplitude(%a : tensor<f32>) "
                                    "{terms = 16, base = 10000.0}",
                                p);
    EXPECT_NEAR(found, 0.5 * sum, 1e-4);
  }
}

TEST(Biases, SumsMultiplesAndRegions) {
  ScalarHarness harness;
  std::string body = "%x = pe.distance\n" + constant("s", 2.0, "tensor<f32>") + R"(
    %a = pe.linear %x slope(%s : tensor<f32>)
    %b = pe.bias_fn(%s : tensor<f32>) {
    ^bb0(%n: index, %h: index, %i: index, %j: index, %t: tensor<f32>):
      %c = pe.read %t[] : tensor<f32>
      %p = arith.addi %i, %h : index
      %q = arith.index_cast %p : index to i32
      %r = arith.sitofp %q : i32 to f32
      %y = arith.mulf %r, %c : f32
      pe.yield %y : f32
    }
    %sum = pe.add %a, %b
    %result = pe.scale %sum {factor = 0.5})";
  EXPECT_EQ(harness.bias(body, {7, 3, 1}), 0.5 * (2.0 * 4 + 2.0 * 8));
}

} // namespace
} // namespace pe::test
