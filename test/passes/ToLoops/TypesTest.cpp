//===- TypesTest.cpp - bitwise tests of the types of tile values ----------===//

#include "passes/ToLoops/TilePlan.h"
#include "runtime/core/DType.h"

#include <bit>
#include <cfloat>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>

namespace pe::test {
namespace {

/// Returns values around every rounding boundary, and values that rounding leaves unchanged.
std::vector<float> awkwardNumbers() {
  std::vector<float> numbers = {0.0f,
                                -0.0f,
                                INFINITY,
                                -INFINITY,
                                NAN,
                                -NAN,
                                FLT_MAX,
                                FLT_MIN,
                                1e-40f,
                                65504.0f,
                                65519.99f,
                                65520.0f,
                                6e-8f,
                                2.9e-8f,
                                3.39e38f,
                                1.0f,
                                std::bit_cast<float>(0x7F800001u)};
  std::mt19937 random(6);
  for (uint32_t half : {0x1000u, 0x8000u}) // half a unit in the last place of tf32 and f16, of bf16
    for (int n = 0; n < 200; ++n) {
      const uint32_t kept = random() & ~(2 * half - 1);
      for (uint32_t low : {half - 1, half, half + 1})
        numbers.push_back(std::bit_cast<float>(kept | low));
    }
  numbers.resize((numbers.size() + 7) / 8 * 8);
  return numbers;
}

/// Returns a plan that rounds rows of f32 in a map and stores them, directly or extended again.
std::string roundingPlan(const std::string &type, const std::string &stored) {
  return R"mlir(
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  tile.parameter "k_start" default "0"
  tile.parameter "q_start" default "k_start + c - r"
  %X = tile.buffer "x" argument : !tile.buffer<[b, hq, r, d], f32>
  %Y = tile.buffer "y" result : !tile.buffer<[b, hq, r, d], )mlir" +
         stored + R"mlir(>
  tile.stage @round forward over ["b", "hq"] {
    %x = tile.load %X : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %y = tile.map(%x) : (!tile.val<[r, d], f32>) -> !tile.val<[r, d], )mlir" +
         type + R"mlir(> {
    ^bb0(%a: f32):
      %0 = arith.truncf %a )mlir" +
         (type == "tf32" ? "to_nearest_away " : "") + ": f32 to " + type + R"mlir(
      tile.yield %0 : )mlir" +
         type + "\n    }\n" +
         (type == stored ? ""
                         : R"mlir(
    %z = tile.map(%y) : (!tile.val<[r, d], )mlir" +
                               type + R"mlir(>) -> !tile.val<[r, d], f32> {
    ^bb0(%a: )mlir" + type + R"mlir():
      %0 = arith.extf %a : )mlir" +
                               type + R"mlir( to f32
      tile.yield %0 : f32
    }
)mlir") + "    tile.store " +
         (type == stored ? "%y" : "%z") + ", %Y : !tile.val<[r, d], " + stored +
         "> -> !tile.buffer<[b, hq, r, d], " + stored + R"mlir(>
  }
}
)mlir";
}

plan::CallSizes rowsOnly(int64_t rows) { return {1, 1, 1, rows, 0, 0, 0}; }

TEST(Types, roundTo16BitsExactly) {
  const std::vector<float> x = awkwardNumbers();
  for (auto [type, round] : {std::pair{"bf16", &floatToBf16}, std::pair{"f16", &floatToF16}}) {
    Tensors tensors;
    tensors.set("x", std::span(x));
    TilePlan(roundingPlan(type, type), {}).run(tensors, rowsOnly(x.size() / 8));
    std::span<uint16_t> y = tensors.get<uint16_t>("y");
    for (size_t n = 0; n < x.size(); ++n) {
      if (std::isnan(x[n])) // any of them
        EXPECT_TRUE(std::isnan(type[0] == 'b' ? bf16ToFloat(y[n]) : f16ToFloat(y[n]))) << type;
      else
        EXPECT_EQ(y[n], round(x[n])) << type << " " << x[n];
    }
  }
}

TEST(Types, widenExactly) {
  const std::vector<float> x = awkwardNumbers();
  const std::pair<const char *, std::function<float(float)>> types[] = {
      {"bf16", [](float a) { return bf16ToFloat(floatToBf16(a)); }},
      {"f16", [](float a) { return f16ToFloat(floatToF16(a)); }},
      {"tf32", roundToTf32},
  };
  for (const auto &[type, round] : types) {
    Tensors tensors;
    tensors.set("x", std::span(x));
    TilePlan(roundingPlan(type, "f32"), {}).run(tensors, rowsOnly(x.size() / 8));
    std::span<float> y = tensors["y"];
    for (size_t n = 0; n < x.size(); ++n)
      EXPECT_TRUE(std::isnan(x[n])
                      ? std::isnan(y[n])
                      : std::bit_cast<uint32_t>(y[n]) == std::bit_cast<uint32_t>(round(x[n])))
          << type << " " << x[n] << " gives " << y[n];
  }
}

/// Rows times keys, rounded to `type` first; the sum over keys of the products.
std::string dotPlan(const std::string &type) {
  const std::string rounded = R"mlir({
    ^bb0(%a: f32):
      %0 = arith.truncf %a : f32 to )mlir" +
                              type + R"mlir(
      tile.yield %0 : )mlir" + type +
                              "\n    }\n";
  return R"mlir(
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  tile.parameter "k_start" default "0"
  tile.parameter "q_start" default "k_start + c - r"
  %Q = tile.buffer "q" argument : !tile.buffer<[b, hq, r, d], f32>
  %K = tile.buffer "k" argument : !tile.buffer<[b, hkv, c, d], f32>
  %O = tile.buffer "o" result : !tile.buffer<[b, hq, r], f32>
  %pairs = tile.pairs
  tile.stage @dot forward over ["b", "hq"] pairs %pairs {
    %q = tile.load %Q : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %qn = tile.map(%q) : (!tile.val<[r, d], f32>) -> !tile.val<[r, d], )mlir" +
         type + "> " + rounded + R"mlir(
    %o = tile.stream any {
      %k = tile.load %K : !tile.buffer<[b, hkv, c, d], f32> -> !tile.val<[c, d], f32>
      %kn = tile.map(%k) : (!tile.val<[c, d], f32>) -> !tile.val<[c, d], )mlir" +
         type + "> " + rounded + R"mlir(
      %s = tile.dot %qn, %kn over d : !tile.val<[r, d], )mlir" +
         type + ">, !tile.val<[c, d], " + type + R"mlir(> -> !tile.val<[r, c], f32>
      %r = tile.reduce add over c %s : !tile.val<[r, c], f32> -> !tile.val<[r], f32>
      tile.yield %r : !tile.val<[r], f32>
    } : !tile.val<[r], f32>
    tile.store %o, %O : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}
)mlir";
}

/// Products of two 11-bit significands are exact in f32; rounding the sum to the type would lose
/// bits.
TEST(Types, productsAreExactAndAddedInF32) {
  const std::vector<float> q = normals(64 * 8, 7), k = normals(8, 8);
  const std::pair<const char *, std::function<float(float)>> types[] = {
      {"bf16", [](float a) { return bf16ToFloat(floatToBf16(a)); }},
      {"f16", [](float a) { return f16ToFloat(floatToF16(a)); }},
  };
  for (const auto &[type, round] : types) {
    Tensors tensors;
    tensors.set("q", std::span(q));
    tensors.set("k", std::span(k));
    TilePlan(dotPlan(type), {}).run(tensors, {1, 1, 1, 64, 1, 0, 0});
    for (int row = 0; row < 64; ++row) {
      float sum = 0.0f;
      for (int d = 0; d < 8; ++d)
        sum = float(double(sum) + double(round(q[row * 8 + d])) * double(round(k[d])));
      EXPECT_EQ(tensors["o"][row], sum) << type << " row " << row;
    }
  }
}

/// 2^24 + 1 - 2^24 over the depth is 0 in f32 and 1 in f64.
TEST(Types, doublesAreAddedInDouble) {
  const std::string plan = R"mlir(
tile.plan @p attributes {head_dim = 8 : i64, value_dim = 8 : i64} {
  tile.parameter "k_start" default "0"
  tile.parameter "q_start" default "k_start + c - r"
  %X = tile.buffer "x" argument : !tile.buffer<[b, hq, r, d], f32>
  %Y = tile.buffer "y" result : !tile.buffer<[b, hq, r], f32>
  tile.stage @sum forward over ["b", "hq"] {
    %x = tile.load %X : !tile.buffer<[b, hq, r, d], f32> -> !tile.val<[r, d], f32>
    %w = tile.map(%x) : (!tile.val<[r, d], f32>) -> !tile.val<[r, d], f64> {
    ^bb0(%a: f32):
      %0 = arith.extf %a : f32 to f64
      tile.yield %0 : f64
    }
    %s = tile.reduce add over d %w : !tile.val<[r, d], f64> -> !tile.val<[r], f64>
    %y = tile.map(%s) : (!tile.val<[r], f64>) -> !tile.val<[r], f32> {
    ^bb0(%a: f64):
      %0 = arith.truncf %a : f64 to f32
      tile.yield %0 : f32
    }
    tile.store %y, %Y : !tile.val<[r], f32> -> !tile.buffer<[b, hq, r], f32>
  }
}
)mlir";
  const std::vector<float> x = {0x1p24f, 1.0f, -0x1p24f, 0, 0, 0, 0, 0};
  Tensors tensors;
  tensors.set("x", std::span(x));
  TilePlan(plan, {}).run(tensors, rowsOnly(1));
  EXPECT_EQ(tensors["y"][0], 1.0f);
}

} // namespace
} // namespace pe::test
