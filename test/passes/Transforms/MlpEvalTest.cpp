//===- MlpEvalTest.cpp - pe.mlp_eval and its adjoint ----------------------===//
//
// Compares the emitted loops with a plain MLP, and the adjoint with finite differences, for every
// activation and depth.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "passes/Transforms/ScalarJit.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace pe::test;

namespace {

using Values = std::vector<double>;

double activate(const std::string &name, double z) {
  if (name == "relu")
    return z > 0 ? z : 0;
  if (name == "gelu")
    return 0.5 * z * (1 + std::erf(z / std::sqrt(2.0)));
  if (name == "silu")
    return z / (1 + std::exp(-z));
  if (name == "cos")
    return std::cos(z);
  if (name == "step")
    return z > 0 ? 1 : 0;
  return name == "tanh" ? std::tanh(z) : z;
}

struct Shape {
  const char *name;
  std::vector<int64_t> widths; ///< hidden widths, then rows of the output
  const char *activation, *final;
};

/// Returns output `head` of the MLP at x = the first parameter times 0.1.
double evaluate(const Shape &shape, const Values &params, int64_t head) {
  Values hidden{0.1 * params[0]};
  size_t at = 1;
  for (size_t layer = 0; layer < shape.widths.size(); ++layer) {
    size_t rows = shape.widths[layer], columns = hidden.size();
    Values next(rows);
    for (size_t row = 0; row < rows; ++row) {
      next[row] = params[at + rows * columns + row];
      for (size_t column = 0; column < columns; ++column)
        next[row] += params[at + row * columns + column] * hidden[column];
    }
    at += rows * columns + rows;
    bool last = layer + 1 == shape.widths.size();
    for (double &value : next)
      value = activate(last ? shape.final : shape.activation, value);
    hidden = next;
  }
  return hidden[hidden.size() == 1 ? 0 : head];
}

/// Builds captures and code of the region x = 0.1 * c0[0]; y = MLP(x)_h.
std::string makeBody(const Shape &shape, std::vector<std::string> &captures, size_t &count) {
  captures = {"tensor<1xf32>"};
  count = 1;
  int64_t columns = 1;
  std::string names, types;
  for (size_t layer = 0; layer < shape.widths.size(); ++layer) {
    std::string rows = std::to_string(shape.widths[layer]);
    std::string weight = layer ? rows + "x" + std::to_string(columns) : rows;
    captures.push_back("tensor<" + weight + "xf32>");
    captures.push_back("tensor<" + rows + "xf32>");
    count += shape.widths[layer] * (columns + 1);
    columns = shape.widths[layer];
  }
  for (size_t n = 1; n < captures.size(); ++n) {
    names += (n > 1 ? ", %c" : "%c") + std::to_string(n);
    types += (n > 1 ? ", " : "") + captures[n];
  }
  return "%zero = arith.constant 0 : index\n%s = arith.constant 0.1 : f32\n"
         "%p = pe.read %c0[%zero] : tensor<1xf32>\n%x = arith.mulf %s, %p : f32\n"
         "%y = pe.mlp_eval %x, %h layers(" +
         names + " : " + types + ") {activation = " + "#pe.activation<" + shape.activation +
         ">, final_activation = #pe.activation<" + shape.final + ">} : f32\npe.yield %y : f32";
}

class MlpEval : public testing::TestWithParam<Shape> {};

TEST_P(MlpEval, ValueAndAdjoint) {
  const Shape &shape = GetParam();
  std::vector<std::string> captures;
  size_t count = 0;
  std::string body = makeBody(shape, captures, count);
  auto context = makeContext();
  auto module = parseRegion(*context, captures, body);
  ASSERT_TRUE(module) << body;
  ScalarJit<double> jit(biasOf(*module));
  ScalarJit<float> narrow(biasOf(*module));
  std::mt19937 random(11);
  std::normal_distribution<double> normal(0, 0.7);
  const double step = 1e-5;
  for (int64_t head : {0, 2}) {
    std::vector<float> narrowParams(count);
    for (float &value : narrowParams)
      value = static_cast<float>(normal(random));
    Values params(narrowParams.begin(), narrowParams.end());
    Point point{head, 0, 0};
    double expected = evaluate(shape, params, head);
    // The emitted 0.1 is the float nearest to 0.1.
    EXPECT_NEAR(jit.value(params, point), expected, 1e-7);
    EXPECT_NEAR(narrow.value(narrowParams, point), expected, 1e-5);
    Values gradient = jit.gradient(params, point);
    for (size_t n = 0; n < count; ++n) {
      Values up = params, down = params;
      up[n] += step;
      down[n] -= step;
      double difference = (jit.value(up, point) - jit.value(down, point)) / (2 * step);
      EXPECT_NEAR(gradient[n], difference, 1e-8) << "parameter " << n;
    }
  }
}

const Shape kShapes[] = {
    {"relu", {8, 3}, "relu", "identity"},
    {"gelu", {8, 3}, "gelu", "identity"},
    {"tanh", {8, 3}, "tanh", "identity"},
    {"silu", {8, 3}, "silu", "identity"},
    {"cos", {8, 3}, "cos", "identity"},
    {"step", {8, 3}, "step", "identity"},
    {"identity", {8, 3}, "identity", "identity"},
    {"shared_output_row", {8, 1}, "gelu", "identity"},
    {"one_layer", {3}, "relu", "identity"},
    {"two_hidden", {5, 6, 3}, "relu", "identity"},
    {"three_hidden", {5, 4, 6, 3}, "tanh", "identity"},
    {"final_relu", {8, 3}, "relu", "relu"},
    {"final_tanh", {3}, "relu", "tanh"},
    {"final_silu", {8, 3}, "cos", "silu"},
};

INSTANTIATE_TEST_SUITE_P(Shapes, MlpEval, testing::ValuesIn(kShapes),
                         [](const auto &info) { return std::string(info.param.name); });

/// relu'(0) = 0: with zero weights in the first layer no gradient reaches it.
TEST(MlpEvalRules, ReluAtZero) {
  const Shape shape{"", {2, 1}, "relu", "identity"};
  std::vector<std::string> captures;
  size_t count = 0;
  std::string body = makeBody(shape, captures, count);
  auto context = makeContext();
  auto module = parseRegion(*context, captures, body);
  ScalarJit<double> jit(biasOf(*module));
  // x, w1[2], b1[2], w2[1, 2], b2[1]
  Values gradient = jit.gradient({10, 0, 1, 0, -1, 2, 2, 0}, Point{});
  EXPECT_EQ(gradient[1], 0); // z = 0
  EXPECT_EQ(gradient[3], 0);
  EXPECT_EQ(gradient[7], 1);
}

} // namespace
