//===- ScalarVjpTest.cpp - derived adjoints against finite differences ----===//
//
// Compares every rule of ScalarVjp in double with central differences of the emitted value, and the
// same rule in float with the double gradient, and checks the documented rules at points without a
// derivative.
//
//===----------------------------------------------------------------------===//

#include "passes/Transforms/ScalarVjp.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/Transforms/ScalarJit.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <random>

using namespace pe::test;

namespace {

using Values = std::vector<double>;

/// Returns fourth-order central differences.
Values differences(ScalarJit<double> &jit, const Values &params, const Point &point) {
  const double step = 1e-4;
  Values result;
  for (size_t n = 0; n < params.size(); ++n) {
    auto at = [&](double shift) {
      Values moved = params;
      moved[n] += shift;
      return jit.value(moved, point);
    };
    result.push_back((8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step));
  }
  return result;
}

void expectClose(const Values &found, const Values &expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t n = 0; n < found.size(); ++n)
    EXPECT_NEAR(found[n], expected[n], tolerance * (1 + std::abs(expected[n])))
        << "parameter " << n;
}

/// Checks one region in both float types at random parameters in [low, high].
void checkRegion(const std::vector<std::string> &captures, const std::string &body, size_t count,
                 double low, double high, const std::vector<Point> &points) {
  auto context = makeContext();
  auto module = parseRegion(*context, captures, body);
  ASSERT_TRUE(module) << body;
  ScalarJit<double> wide(biasOf(*module));
  ScalarJit<float> narrow(biasOf(*module));
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(low, high);
  for (const Point &point : points) {
    for (int repeat = 0; repeat < 8; ++repeat) {
      std::vector<float> narrowParams(count);
      for (float &value : narrowParams)
        value = static_cast<float>(uniform(random));
      Values params(narrowParams.begin(), narrowParams.end());
      Values gradient = wide.gradient(params, point, 1.5);
      Values expected = differences(wide, params, point);
      for (double &value : expected)
        value *= 1.5;
      expectClose(gradient, expected, 1e-8);
      std::vector<float> narrowGradient = narrow.gradient(narrowParams, point, 1.5f);
      expectClose(Values(narrowGradient.begin(), narrowGradient.end()), gradient, 2e-5);
      EXPECT_NEAR(narrow.value(narrowParams, point), wide.value(params, point),
                  2e-5 * (1 + std::abs(wide.value(params, point))));
    }
  }
}

const char *kReadTwo = R"(
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %x = pe.read %c0[%zero] : tensor<2xf32>
  %y = pe.read %c0[%one] : tensor<2xf32>
)";

struct Rule {
  const char *name;
  const char *code; ///< defines %v from %x and %y
  double low, high;
};

const Rule kRules[] = {
    {"addf", "%v = arith.addf %x, %y : f32", -2, 2},
    {"subf", "%v = arith.subf %x, %y : f32", -2, 2},
    {"mulf", "%v = arith.mulf %x, %y : f32", -2, 2},
    {"square", "%v = arith.mulf %x, %x : f32", -2, 2},
    {"divf", "%v = arith.divf %x, %y : f32", 0.5, 2},
    {"remf",
     "%s = arith.constant 7.3 : f32\n%a = arith.mulf %x, %s : f32\n"
     "%v = arith.remf %a, %y : f32",
     1.01, 1.1},
    {"negf", "%v = arith.negf %x : f32", -2, 2},
    {"widths",
     "%a = arith.extf %x : f32 to f64\n%c = arith.mulf %a, %a : f64\n"
     "%v = arith.truncf %c : f64 to f32",
     -2, 2},
    {"fma", "%v = math.fma %x, %y, %x : f32", -2, 2},
    {"maximumf", "%v = arith.maximumf %x, %y : f32", -2, 2},
    {"maxnumf", "%v = arith.maxnumf %x, %y : f32", -2, 2},
    {"minimumf", "%v = arith.minimumf %x, %y : f32", -2, 2},
    {"minnumf", "%v = arith.minnumf %x, %y : f32", -2, 2},
    {"clampf", "%lo = arith.constant -0.5 : f32\n%v = math.clampf %x to [%lo, %y] : f32", -2, 2},
    {"select",
     "%p = arith.cmpf olt, %x, %y : f32\n%a = arith.mulf %x, %y : f32\n"
     "%v = arith.select %p, %a, %y : f32",
     -2, 2},
    {"copysign", "%v = math.copysign %x, %y : f32", -2, 2},
    {"absf", "%v = math.absf %x : f32", -2, 2},
    {"sqrt", "%v = math.sqrt %x : f32", 0.5, 2},
    {"rsqrt", "%v = math.rsqrt %x : f32", 0.5, 2},
    {"cbrt", "%v = math.cbrt %x : f32", 0.5, 2},
    {"powf", "%v = math.powf %x, %y : f32", 0.5, 2},
    {"fpowi", "%n = arith.constant 3 : i32\n%v = math.fpowi %x, %n : f32, i32", -2, 2},
    {"exp", "%v = math.exp %x : f32", -2, 2},
    {"exp2", "%v = math.exp2 %x : f32", -2, 2},
    {"expm1", "%v = math.expm1 %x : f32", -2, 2},
    {"log", "%v = math.log %x : f32", 0.5, 2},
    {"log2", "%v = math.log2 %x : f32", 0.5, 2},
    {"log10", "%v = math.log10 %x : f32", 0.5, 2},
    {"log1p", "%v = math.log1p %x : f32", 0.5, 2},
    {"erf", "%v = math.erf %x : f32", -2, 2},
    {"erfc", "%v = math.erfc %x : f32", -2, 2},
    {"sin", "%v = math.sin %x : f32", -2, 2},
    {"cos", "%v = math.cos %x : f32", -2, 2},
    {"tan", "%v = math.tan %x : f32", -1, 1},
    {"asin", "%v = math.asin %x : f32", -0.8, 0.8},
    {"acos", "%v = math.acos %x : f32", -0.8, 0.8},
    {"atan", "%v = math.atan %x : f32", -2, 2},
    {"atan2", "%v = math.atan2 %x, %y : f32", 0.5, 2},
    {"sinh", "%v = math.sinh %x : f32", -2, 2},
    {"cosh", "%v = math.cosh %x : f32", -2, 2},
    {"tanh", "%v = math.tanh %x : f32", -2, 2},
    {"cosine_sum", "%v = pe.cosine_sum_eval %x {terms = 3, base = 5.0} : f32", -2, 2},
    {"long_cosine_sum", "%v = pe.cosine_sum_eval %x {terms = 100, base = 50.0} : f32", -2, 2},
    {"sum",
     "%v = pe.sum(%x, %y : f32, f32) attributes {count = 3 : i64} {\n"
     "^bb0(%k: index, %p: f32, %r: f32):\n"
     "%n = arith.index_cast %k : index to i32\n%m = arith.sitofp %n : i32 to f32\n"
     "%a = arith.mulf %m, %p : f32\n%c = math.exp %a : f32\n%d = arith.mulf %c, %r : f32\n"
     "pe.yield %d : f32\n}",
     -1, 1},
    {"sum_of_sums",
     "%v = pe.sum(%x, %y : f32, f32) attributes {count = 2 : i64} {\n"
     "^bb0(%k: index, %p: f32, %r: f32):\n"
     "%s = pe.sum(%p : f32) attributes {count = 3 : i64} {\n"
     "^bb0(%l: index, %z: f32):\n%e = math.sin %z : f32\npe.yield %e : f32\n}\n"
     "%d = arith.mulf %s, %r : f32\npe.yield %d : f32\n}",
     -1, 1},
    {"floor", "%a = math.floor %x : f32\n%v = arith.mulf %a, %y : f32", 1.1, 1.9},
    {"integers",
     "%a = arith.fptosi %x : f32 to i32\n%c = arith.sitofp %a : i32 to f32\n"
     "%v = arith.mulf %c, %y : f32",
     1.1, 1.9},
};

class ScalarRule : public testing::TestWithParam<Rule> {};

TEST_P(ScalarRule, AgreesWithDifferences) {
  const Rule &rule = GetParam();
  std::string body = std::string(kReadTwo) + rule.code + "\npe.yield %v : f32";
  checkRegion({"tensor<2xf32>"}, body, 2, rule.low, rule.high, {Point{}});
}

INSTANTIATE_TEST_SUITE_P(Rules, ScalarRule, testing::ValuesIn(kRules),
                         [](const auto &info) { return std::string(info.param.name); });

/// A sum reads tensors at its index, and its bound is the size of a tensor's axis.
TEST(ScalarVjp, SumOverAnAxis) {
  checkRegion({"tensor<3xf32>", "tensor<2x3xf32>"}, R"(
    %x = pe.read %c0[%h] : tensor<3xf32>
    %v = pe.sum(%x, %c0, %c1 : f32, tensor<3xf32>, tensor<2x3xf32>)
        attributes {extent = array<i64: 2, 1>} {
    ^bb0(%k: index, %p: f32, %t: tensor<3xf32>, %u: tensor<2x3xf32>):
      %one = arith.constant 1 : index
      %a = pe.read %t[%k] : tensor<3xf32>
      %e = pe.read %u[%one, %k] : tensor<2x3xf32>
      %f = arith.mulf %a, %e : f32
      %g = arith.mulf %f, %p : f32
      %z = math.sin %g : f32
      pe.yield %z : f32
    }
    pe.yield %v : f32)",
              9, 0.5, 1.5, {{0, 5, 3}, {2, 3, 3}});
}

/// A bias with several parameters, read per head and used twice, and with positions.
TEST(ScalarVjp, DecayRegion) {
  checkRegion({"tensor<3xf32>", "tensor<3xf32>"}, R"(
    %d = arith.subi %i, %j : index
    %e = arith.index_cast %d : index to i64
    %x = arith.sitofp %e : i64 to f32
    %a = math.absf %x : f32
    %amp = pe.read %c0[%h] : tensor<3xf32>
    %tau = pe.read %c1[%h] : tensor<3xf32>
    %q = arith.divf %a, %tau : f32
    %n = arith.negf %q : f32
    %w = math.exp %n : f32
    %p = arith.mulf %amp, %w : f32
    %s = arith.mulf %tau, %p : f32
    %v = arith.addf %s, %amp : f32
    pe.yield %v : f32)",
              6, 0.5, 3, {{0, 5, 3}, {1, 3, 3}, {2, 2, 9}});
}

//===----------------------------------------------------------------------===//
// Points without a derivative
//===----------------------------------------------------------------------===//

Values gradientAt(const std::string &code, const Values &params) {
  auto context = makeContext();
  auto module = parseRegion(*context, {"tensor<2xf32>"},
                            std::string(kReadTwo) + code + "\npe.yield %v : f32");
  ScalarJit<double> jit(biasOf(*module));
  return jit.gradient(params, Point{});
}

TEST(ScalarVjp, TiesGiveHalfToEach) {
  EXPECT_EQ(gradientAt("%v = arith.maximumf %x, %y : f32", {2, 2}), (Values{0.5, 0.5}));
  EXPECT_EQ(gradientAt("%v = arith.minimumf %x, %y : f32", {2, 2}), (Values{0.5, 0.5}));
  EXPECT_EQ(gradientAt("%v = arith.maximumf %x, %x : f32", {2, 2}), (Values{1, 0}));
}

TEST(ScalarVjp, ClampPassesAtItsBounds) {
  std::string code = "%lo = arith.constant 0.0 : f32\n%v = math.clampf %x to [%lo, %y] : f32";
  EXPECT_EQ(gradientAt(code, {0, 1}), (Values{1, 0}));
  EXPECT_EQ(gradientAt(code, {1, 1}), (Values{1, 0}));
  EXPECT_EQ(gradientAt(code, {2, 1}), (Values{0, 1}));
  EXPECT_EQ(gradientAt(code, {-1, 1}), (Values{0, 0}));
}

TEST(ScalarVjp, ZeroAtZero) {
  EXPECT_EQ(gradientAt("%v = math.absf %x : f32", {0, 1}), (Values{0, 0}));
  EXPECT_EQ(gradientAt("%v = math.sqrt %x : f32", {0, 1}), (Values{0, 0}));
  EXPECT_EQ(gradientAt("%v = math.cbrt %x : f32", {0, 1}), (Values{0, 0}));
  EXPECT_EQ(gradientAt("%v = math.powf %x, %y : f32", {0, 0.5}), (Values{0, 0}));
  EXPECT_EQ(gradientAt("%v = math.atan2 %x, %y : f32", {0, 0}), (Values{0, 0}));
}

/// The branch that a select did not take contributes no NaN, even if its slope is infinite.
TEST(ScalarVjp, UnselectedBranchLeavesNoTrace) {
  std::string code = "%z = arith.constant 0.0 : f32\n%p = arith.cmpf ogt, %x, %z : f32\n"
                     "%l = math.log %x : f32\n%e = math.exp %y : f32\n"
                     "%m = arith.mulf %l, %e : f32\n%v = arith.select %p, %m, %y : f32";
  EXPECT_EQ(gradientAt(code, {0, 2000}), (Values{0, 1}));
}

//===----------------------------------------------------------------------===//
// Inputs and errors
//===----------------------------------------------------------------------===//

/// u and r are inputs of u / r; propagating their adjoints gives the gradient of the entire value.
TEST(ScalarVjp, ChainsThroughInputs) {
  auto context = makeContext();
  auto module = parseRegion(*context, {"tensor<2xf32>"},
                            std::string(kReadTwo) + "%u = math.exp %x : f32\n"
                                                    "%r = arith.mulf %x, %y : f32\n"
                                                    "%v = arith.divf %u, %r : f32\n"
                                                    "pe.yield %v : f32");
  ScalarJit<double> whole(biasOf(*module)), chained(biasOf(*module), /*chained=*/true);
  Values params = {0.7, -1.3};
  EXPECT_EQ(whole.value(params, Point{}), chained.value(params, Point{}));
  expectClose(chained.gradient(params, Point{}), whole.gradient(params, Point{}), 1e-14);
  expectClose(chained.gradient(params, Point{}), differences(whole, params, Point{}), 1e-8);
}

/// An input that the value does not depend on has a zero adjoint; without parameters nothing is
/// active.
TEST(ScalarVjp, UnusedInput) {
  auto context = makeContext();
  auto module = parseRegion(*context, {"tensor<2xf32>"},
                            std::string(kReadTwo) + "%one_f = arith.constant 1.0 : f32\n"
                                                    "%v = math.floor %x : f32\n"
                                                    "%w = arith.addf %v, %one_f : f32\n"
                                                    "pe.yield %w : f32");
  mlir::Value root = biasOf(*module).getBody().front().getTerminator()->getOperand(0);
  auto vjp = mlir::pe::ScalarVjp::create(root);
  ASSERT_TRUE(succeeded(vjp));
  EXPECT_FALSE(vjp->isActive());
  ScalarJit<double> chained(biasOf(*module), /*chained=*/true);
  EXPECT_EQ(chained.gradient({1.5, 2}, Point{}), (Values{0, 0}));
}

} // namespace
