//===- GradientTest.cpp - Gradients against finite differences ------------===//
//
// Compares the reference's gradient with central differences of the loss sum(cotangent * result),
// for each encoding, argument and element.
//
//===----------------------------------------------------------------------===//

#include "reference/Helpers.h"

#include <cmath>

namespace pe::test {
namespace {

double lossOf(const Encoding &encoding, const TensorMap &inputs, const Positions &positions = {}) {
  auto results = evaluated(encoding.program, inputs, false, positions);
  double loss = 0.0;
  for (const auto &[name, result] : results.outputs) {
    auto cotangent = inputs.at("d_" + name).values<double>();
    for (int64_t e = 0; e < result.numel(); ++e)
      if (std::isfinite(result.values<double>()[e]))
        loss += cotangent[e] * result.values<double>()[e];
  }
  return loss;
}

/// Returns the gradient of one argument by central differences of fourth order.
std::vector<double> differences(const Encoding &encoding, TensorMap inputs,
                                const std::string &name) {
  constexpr double h = 1e-4;
  inputs[name] = inputs[name].clone();
  std::vector<double> gradient;
  for (double &x : inputs[name].values<double>()) {
    double saved = x;
    auto at = [&](double step) {
      x = saved + step;
      return lossOf(encoding, inputs);
    };
    double near = at(h) - at(-h), far = at(2 * h) - at(-2 * h);
    gradient.push_back((8 * near - far) / (12 * h));
    x = saved;
  }
  return gradient;
}

void checkGradients(const Encoding &encoding, const TensorMap &inputs) {
  auto results = evaluated(encoding.program, inputs, true);
  for (const reference::Argument &argument : encoding.program.arguments) {
    auto expected = differences(encoding, inputs, argument.name);
    auto found = results.gradients.at("d_" + argument.name).values<double>();
    double error = 0.0, norm = 0.0;
    for (size_t e = 0; e < expected.size(); ++e) {
      error += (found[e] - expected[e]) * (found[e] - expected[e]);
      norm += expected[e] * expected[e];
    }
    // The absolute term is the rounding error of the loss, about 10, divided by h.
    EXPECT_LE(std::sqrt(error), 1e-6 * std::sqrt(norm) + 1e-10)
        << encoding.name << " d_" << argument.name;
  }
}

class EveryEncoding : public testing::TestWithParam<std::string> {};

TEST_P(EveryEncoding, GradientsMatchFiniteDifferences) {
  Encoding encoding = encodingNamed(GetParam(), 5);
  checkGradients(encoding, randomInputs(encoding, {2, 4, 2, 6, 6, 4, 4}, 11));
}

TEST(Gradients, OfABasePerHead) {
  ProgramBuilder f;
  int rotation = f.rotation("pe.rotary", {{"interleaved", true}},
                            {f.parameter("base", {ProgramBuilder::heads}, 5.0, 40.0)});
  f.attention({}, {rotation}, f.mask("pe.causal"));
  Encoding encoding{"rope_per_head", f.finish(), f.parameters()};
  checkGradients(encoding, randomInputs(encoding, {2, 3, 3, 6, 9, 4, 4}, 11));
}

/// Builds base[h] ^ (-p / n) / factor[p]; the arguments are h, p, n and the tensors.
int frequency(ProgramBuilder &f, const std::vector<int> &a) {
  auto real = [&](int index) {
    return f.scalar("arith.sitofp", {f.scalar("arith.index_cast", {index}, "i64")}, "f64");
  };
  auto read = [&](int tensor, int index) {
    return f.scalar("arith.extf", {f.scalar("pe.read", {tensor, index})}, "f64");
  };
  int minus = f.scalar("arith.negf", {real(a[1])}, "f64");
  int share = f.scalar("arith.divf", {minus, real(a[2])}, "f64");
  int power = f.scalar("math.powf", {read(a[3], a[0]), share}, "f64");
  return f.scalar("arith.divf", {power, read(a[4], a[1])}, "f64");
}

TEST(Gradients, OfFrequenciesByFormula) {
  ProgramBuilder f;
  int base = f.parameter("base", {ProgramBuilder::heads}, 5.0, 40.0);
  int factor = f.parameter("factor", {2}, 1.0, 3.0);
  int rotation = f.region("pe.rotation_fn", "!pe.rotation", 3, {base, factor},
                          [&](const std::vector<int> &a) { return frequency(f, a); });
  f.attention({}, {rotation}, f.mask("pe.causal"));
  Encoding encoding{"rope_formula", f.finish(), f.parameters()};
  checkGradients(encoding, randomInputs(encoding, {2, 3, 3, 6, 9, 4, 4}, 11));
}

TEST(Gradients, OfTablesOfEveryBatchEntry) {
  ProgramBuilder f;
  int cosines = f.parameter("cos", {2, 9, 2}), sines = f.parameter("sin", {2, 9, 2});
  int rotation = f.rotation("pe.rotation_table", {}, {cosines, sines});
  f.attention({}, {rotation}, f.mask("pe.causal"));
  Encoding encoding{"rope_table", f.finish(), f.parameters()};
  checkGradients(encoding, randomInputs(encoding, {2, 4, 2, 6, 9, 4, 4}, 11));
}

/// Every kind of parameter, and queries that share key heads.
TEST(Gradients, OfEachNormalizer) {
  for (const char *normalizer : {"softmax", "sigmoid", "softpick"}) {
    ProgramBuilder f;
    int slope = f.parameter("slope", {ProgramBuilder::heads});
    int bias = f.bias("pe.linear", {f.coordinate("pe.distance"), slope},
                      {{"factor", -1.0}, {"operandSegmentSizes", {1, 1, 0}}});
    int rotation = f.rotation("pe.rotary", {}, {f.parameter("base", {}, 5.0, 40.0)});
    int cap = f.parameter("cap", {ProgramBuilder::heads}, 2.0, 3.0);
    int gate = f.parameter("gate", {ProgramBuilder::heads}, 0.5, 2.0);
    int factor = f.region("pe.factor_fn", "!pe.factor", 4, {gate}, [&](const std::vector<int> &a) {
      return f.scalar("pe.read", {a[4], a[1]});
    });
    ProgramBuilder::AttentionOptions options;
    options.normalizer = normalizer;
    options.score = f.scoreFunction({cap}, [&](const std::vector<int> &a) {
      int width = f.scalar("pe.read", {a[5], a[2]});
      int ratio = f.scalar("arith.divf", {a[0], width});
      return f.scalar("arith.mulf", {width, f.scalar("math.tanh", {ratio})});
    });
    f.attention({bias, factor}, {rotation}, f.mask("pe.causal"), options);
    Encoding encoding{normalizer, f.finish(), f.parameters()};
    checkGradients(encoding, randomInputs(encoding, {2, 4, 2, 6, 8, 4, 4}, 11));
  }
}

TEST_P(EveryEncoding, MagnitudesBoundGradients) {
  Encoding encoding = encodingNamed(GetParam(), 5);
  auto results =
      evaluated(encoding.program, randomInputs(encoding, {2, 2, 2, 9, 9, 4, 4}, 5), true);
  EXPECT_EQ(results.magnitudes.size(), encoding.parameters.size());
  for (const auto &[name, magnitude] : results.magnitudes)
    for (int64_t e = 0; e < magnitude.numel(); ++e)
      EXPECT_GE(magnitude.values<double>()[e] * (1 + 1e-12),
                std::fabs(results.gradients[name].values<double>()[e]))
          << name;
}

std::vector<std::string> encodingNames() {
  std::vector<std::string> names;
  for (const Encoding &encoding : allEncodings(1))
    names.push_back(encoding.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Gradient, EveryEncoding, testing::ValuesIn(encodingNames()),
                         [](const auto &info) { return info.param; });

TEST(Gradient, ThresholdGetsHalfOfTheGradientWhereItEqualsThePosition) {
  // L = 4 ties with row 4, the last: the gradient is the mean of those for L just above and below.
  ProgramBuilder f;
  int t = f.coordinate("pe.progressive", {f.parameter("c", {}), f.parameter("L_multiplier", {})},
                       {{"initial_length", 4.0}, {"operandSegmentSizes", {1, 1}}});
  int slope = f.parameter("slope", {ProgramBuilder::heads});
  f.attention({f.bias("pe.linear", {t, slope}, {{"operandSegmentSizes", {1, 1, 0}}})}, {},
              f.mask("pe.causal"));
  Encoding tied{"tied", f.finish(), f.parameters()};
  TensorMap inputs = randomInputs(tied, {1, 2, 2, 5, 5, 4, 4}, 21);
  inputs["L_multiplier"] = Tensor::scalar(1.0);
  auto half = evaluated(tied.program, inputs, true);
  auto sided = [&](double side) {
    TensorMap moved = inputs;
    moved["L_multiplier"] = Tensor::scalar(1.0 + side * 1e-9);
    return evaluated(tied.program, moved, true).gradients["d_L_multiplier"].values<double>()[0];
  };
  double expected = 0.5 * (sided(1) + sided(-1));
  EXPECT_NEAR(half.gradients["d_L_multiplier"].values<double>()[0], expected,
              1e-7 * std::fabs(expected));
  EXPECT_GT(std::fabs(sided(1) - sided(-1)), 1e-3 * std::fabs(expected)) << "no tie was tested";
}

TEST(Gradient, BiasOfAllScoresHasNoGradientUnderSoftmax) {
  Encoding encoding = encodingNamed("fire", 8);
  auto results =
      evaluated(encoding.program, randomInputs(encoding, {1, 2, 2, 20, 20, 4, 4}, 2), true);
  for (int64_t h = 0; h < 2; ++h) {
    EXPECT_NEAR(results.gradients["d_b2"].values<double>()[h], 0.0, 1e-13);
    EXPECT_GT(results.magnitudes["d_b2"].values<double>()[h], 1.0);
  }
}

TEST(Gradient, MagnitudeIsTheSumOverPairsOfAbsoluteValues) {
  // d(bias)/d(slope) = -|i - j|, so with the two pairs of row 1 the magnitude is |dS_10|.
  Encoding encoding = encodingNamed("alibi_learned");
  TensorMap inputs = randomInputs(encoding, {1, 1, 1, 2, 2, 4, 4}, 4);
  auto results = evaluated(encoding.program, inputs, true);
  EXPECT_EQ(std::fabs(results.gradients["d_slopes"].values<double>()[0]),
            results.magnitudes["d_slopes"].values<double>()[0]);
  EXPECT_GT(results.magnitudes["d_slopes"].values<double>()[0], 0.0);
}

TEST(Gradient, ResultsDoNotDependOnTheNumberOfThreads) {
  Encoding encoding = encodingNamed("fire", 8);
  TensorMap inputs = randomInputs(encoding, {3, 4, 2, 17, 23, 4, 4}, 2);
  auto one = evaluated(encoding.program, inputs, true, {}, 1);
  auto many = evaluated(encoding.program, inputs, true, {}, 5);
  for (const auto &[name, gradient] : one.gradients)
    expectNear(many.gradients[name], gradient, 0.0, name);
}

} // namespace
} // namespace pe::test
