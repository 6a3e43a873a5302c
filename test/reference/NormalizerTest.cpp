//===- NormalizerTest.cpp - Normalizers of the reference ------------------===//
//
// Tests the weights and gradients of normalizers without a statistic against directly written
// formulas and finite differences. The others are tested as encodings (Encodings.cpp).
//
//===----------------------------------------------------------------------===//

#include "reference/Helpers.h"
#include "runtime/reference/Compare.h"

#include <cmath>

namespace pe::test {
namespace {

constexpr int64_t kSize = 5;

/// A matrix with an element per query and key.
using Matrix = std::vector<std::vector<double>>;

/// Returns the matrix of the values of a function of (i, j).
template <typename Function> Matrix matrixOf(Function function) {
  Matrix matrix(kSize, std::vector<double>(kSize));
  for (int64_t i = 0; i < kSize; ++i)
    for (int64_t j = 0; j < kSize; ++j)
      matrix[i][j] = function(i, j);
  return matrix;
}

/// Returns logits of both signs and of about size `size`, none near 0.
Matrix logitsOf(double size) {
  return matrixOf([&](int64_t i, int64_t j) {
    const double x = std::sin(static_cast<double>(1 + 7 * i + 3 * j));
    return size * (x + (x < 0 ? -0.2 : 0.2));
  });
}

/// Returns the factors of dropout with probability 1/2.
Matrix dropped() {
  return matrixOf([](int64_t i, int64_t j) { return (3 * i + j) % 4 < 2 ? 2.0 : 0.0; });
}

Tensor toTensor(const Matrix &matrix) {
  std::vector<double> elements;
  for (const std::vector<double> &row : matrix)
    elements.insert(elements.end(), row.begin(), row.end());
  return doubles(elements, {kSize, kSize});
}

Matrix toMatrix(const Tensor &tensor) {
  return matrixOf([&](int64_t i, int64_t j) { return tensor.values<double>()[i * kSize + j]; });
}

/// An attention of one head whose logits are the argument `z` and whose values are unit vectors: o
/// is A f, and d_z the gradient of the logits.
struct OneHead {
  Encoding encoding;
  TensorMap inputs;

  /// `gain`, if it is not 1, multiplies scores by a score function.
  OneHead(const std::string &normalizer, const Matrix &z, bool isCausal = false,
          const Matrix &factors = {}, double gain = 1.0) {
    ProgramBuilder f;
    auto readPair = [&](const std::vector<int> &a) {
      return f.scalar("pe.read", {a[4], a[2], a[3]});
    };
    std::vector<int> terms = {f.biasFunction({f.parameter("z", {kSize, kSize})}, readPair)};
    if (!factors.empty())
      terms.push_back(f.region("pe.factor_fn", "!pe.factor", 4,
                               {f.parameter("factors", {kSize, kSize})}, readPair));
    ProgramBuilder::AttentionOptions options;
    options.normalizer = normalizer;
    if (gain != 1.0)
      options.score = f.scoreFunction({}, [&](const std::vector<int> &a) {
        return f.scalar("arith.mulf", {a[0], f.number(gain)});
      });
    f.attention(terms, {}, isCausal ? f.mask("pe.causal") : f.noMask, options);
    encoding = {normalizer, f.finish(), f.parameters()};
    inputs = randomInputs(encoding, {1, 1, 1, kSize, kSize, 4, kSize}, 7);
    inputs["q"] = Tensor::zeros(DType::F64, inputs["q"].shape());
    inputs["v"] = Tensor::zeros(DType::F64, inputs["v"].shape());
    for (int64_t n = 0; n < kSize; ++n)
      inputs["v"].data<double>()[n * (kSize + 1)] = 1.0;
    inputs["z"] = toTensor(z);
    if (!factors.empty())
      inputs["factors"] = toTensor(factors);
  }

  Matrix outputs() const { return toMatrix(evaluated(encoding.program, inputs).outputs["o"]); }
  Matrix cotangents() const { return toMatrix(inputs.at("d_o")); }
  Matrix gradients(const std::string &name = "d_z") const {
    return toMatrix(evaluated(encoding.program, inputs, true).gradients[name]);
  }

  /// Returns the gradient of `z` by central differences of fourth order with step `h`.
  Matrix differences(double h) const {
    OneHead moved = *this;
    const Matrix dO = cotangents();
    return matrixOf([&](int64_t i, int64_t j) {
      moved.inputs["z"] = inputs.at("z").clone();
      double &x = moved.inputs["z"].data<double>()[i * kSize + j];
      const double saved = x;
      auto lossAt = [&](double step) {
        x = saved + step;
        const Matrix o = moved.outputs();
        double loss = 0.0;
        for (int64_t n = 0; n < kSize; ++n)
          loss += o[i][n] * dO[i][n]; // other rows do not depend on z_ij
        return loss;
      };
      const double near = lossAt(h) - lossAt(-h), far = lossAt(2 * h) - lossAt(-2 * h);
      return (8 * near - far) / (12 * h);
    });
  }
};

/// Expects that all elements are equal up to `tolerance` times the largest expected one.
void expectClose(const Matrix &found, const Matrix &expected, double tolerance) {
  double largest = 0.0;
  for (const std::vector<double> &row : expected)
    for (double x : row)
      largest = std::max(largest, std::fabs(x));
  EXPECT_GT(largest, 0.0) << "nothing was compared";
  for (int64_t i = 0; i < kSize; ++i)
    for (int64_t j = 0; j < kSize; ++j)
      EXPECT_NEAR(found[i][j], expected[i][j], tolerance * largest) << i << ", " << j;
}

double sigma(double z) { return 1.0 / (1.0 + std::exp(-z)); }

TEST(SigmoidNormalizer, WeightsAreTheSigmoidOfKeptLogits) {
  for (double size : {1e-30, 1e-4, 1.0, 10.0}) {
    const Matrix z = logitsOf(size);
    expectClose(OneHead("sigmoid", z, /*isCausal=*/true).outputs(),
                matrixOf([&](int64_t i, int64_t j) { return j > i ? 0.0 : sigma(z[i][j]); }),
                1e-15);
  }
}

TEST(SigmoidNormalizer, GradientIsTheDerivativeOfTheSigmoid) {
  const Matrix z = logitsOf(3.0);
  const OneHead head("sigmoid", z, /*isCausal=*/true);
  const Matrix dO = head.cotangents();
  expectClose(head.gradients(), matrixOf([&](int64_t i, int64_t j) {
                return j > i ? 0.0 : sigma(z[i][j]) * (1 - sigma(z[i][j])) * dO[i][j];
              }),
              1e-14);
  for (double size : {1e-4, 1.0, 5.0}) {
    const OneHead other("sigmoid", logitsOf(size));
    expectClose(other.gradients(), other.differences(1e-3), 1e-8);
  }
}

TEST(SigmoidNormalizer, ExtremeLogits) {
  const std::vector<double> logits = {1e4, -1e4, 40.0, 0.0, -INFINITY};
  const OneHead head("sigmoid", matrixOf([&](int64_t, int64_t j) { return logits[j]; }));
  const Matrix found = head.outputs(), gradient = head.gradients(), dO = head.cotangents();
  for (int64_t i = 0; i < kSize; ++i) {
    EXPECT_EQ(found[i], (std::vector<double>{1.0, 0.0, 1.0, 0.5, 0.0}));
    EXPECT_EQ(gradient[i][0], 0.0);
    EXPECT_EQ(gradient[i][1], 0.0);
    EXPECT_NEAR(gradient[i][2] / (std::exp(-40.0) * dO[i][2]), 1.0, 1e-12) << "no cancellation";
    EXPECT_DOUBLE_EQ(gradient[i][3], 0.25 * dO[i][3]);
    EXPECT_EQ(gradient[i][4], 0.0);
  }
}

/// Returns the weights of softpick as written, in long double.
Matrix pickedFrom(const Matrix &z, bool isCausal) {
  Matrix weights(kSize, std::vector<double>(kSize));
  for (int64_t i = 0; i < kSize; ++i) {
    const int64_t count = isCausal ? i + 1 : kSize;
    long double sum = 0.0;
    for (int64_t j = 0; j < count; ++j)
      sum += std::fabs(std::expm1(static_cast<long double>(z[i][j])));
    for (int64_t j = 0; j < count && sum > 0.0; ++j)
      weights[i][j] = std::max(std::expm1(static_cast<long double>(z[i][j])), 0.0L) / sum;
  }
  return weights;
}

/// Returns the gradient of the logits under softpick as written.
Matrix pickedGradient(const Matrix &z, const Matrix &dO) {
  const Matrix weights = pickedFrom(z, false);
  return matrixOf([&](int64_t i, int64_t j) -> double {
    long double sum = 0.0, mean = 0.0;
    for (int64_t l = 0; l < kSize; ++l) {
      sum += std::fabs(std::expm1(static_cast<long double>(z[i][l])));
      mean += weights[i][l] * dO[i][l];
    }
    if (z[i][j] == 0.0 || sum == 0.0)
      return 0.0;
    const long double share = std::exp(static_cast<long double>(z[i][j])) / sum;
    return share * (z[i][j] > 0.0 ? dO[i][j] - mean : mean);
  });
}

/// Logits of about 1e4, of which several have weight.
Matrix largeLogits() {
  Matrix z = logitsOf(1.0);
  for (std::vector<double> &row : z)
    for (double &x : row)
      x = x > 0.5 ? -1e4 : 1e4 + x;
  return z;
}

TEST(SoftpickNormalizer, WeightsAreTheFormula) {
  for (double size : {1e-300, 1e-30, 1e-4, 1.0, 10.0, 9e3})
    for (bool isCausal : {false, true})
      expectClose(OneHead("softpick", logitsOf(size), isCausal).outputs(),
                  pickedFrom(logitsOf(size), isCausal), 1e-14);
  expectClose(OneHead("softpick", largeLogits()).outputs(), pickedFrom(largeLogits(), false),
              1e-14);
}

TEST(SoftpickNormalizer, GradientIsTheFormula) {
  for (double size : {1e-30, 1e-4, 1.0, 10.0}) {
    const OneHead head("softpick", logitsOf(size));
    expectClose(head.gradients(), pickedGradient(logitsOf(size), head.cotangents()), 1e-13);
  }
  const OneHead head("softpick", largeLogits());
  expectClose(head.gradients(), pickedGradient(largeLogits(), head.cotangents()), 1e-13);
}

TEST(SoftpickNormalizer, GradientMatchesDifferences) {
  for (double size : {1e-30, 1e-4, 1.0, 5.0}) {
    const OneHead head("softpick", logitsOf(size));
    expectClose(head.gradients(), head.differences(1e-3 * size), 1e-8);
  }
  const OneHead head("softpick", largeLogits());
  expectClose(head.gradients(), head.differences(1e-3), 1e-7);
}

TEST(SoftpickNormalizer, LogitsOfZeroHaveNoGradient) {
  Matrix z = logitsOf(1.0);
  z[1] = std::vector<double>(kSize, 0.0); // a row whose sum is 0
  for (int64_t i = 2; i < kSize; ++i)
    z[i][1] = 0.0;
  z[4] = {-1.0, 0.0, -0.25, -2.0, -0.5}; // a row without positive logits
  const OneHead head("softpick", z);
  expectClose(head.outputs(), pickedFrom(z, false), 1e-14);
  expectClose(head.gradients(), pickedGradient(z, head.cotangents()), 1e-14);
  for (const Matrix &found : {head.outputs(), head.gradients()}) {
    EXPECT_EQ(found[1], std::vector<double>(kSize, 0.0));
    EXPECT_EQ(found[4], std::vector<double>(kSize, 0.0)) << "no key is picked";
    EXPECT_EQ(found[2][1], 0.0);
    EXPECT_NE(found[2][2], 0.0);
  }
}

TEST(SoftpickNormalizer, RowsWhoseSumIsZeroReadNoValues) {
  Matrix z = logitsOf(1.0);
  z[1] = std::vector<double>(kSize, 0.0);
  OneHead head("softpick", z);
  head.inputs["v"].values<double>()[0] = NAN;
  auto results = evaluated(head.encoding.program, head.inputs, true);
  auto o = results.outputs["o"].values<double>();
  for (int64_t i = 0; i < kSize; ++i)
    for (int64_t e = 0; e < kSize; ++e)
      EXPECT_EQ(std::isnan(o[i * kSize + e]), i != 1 && e == 0) << i << ", " << e;
  for (double x : results.gradients["d_v"].values<double>())
    EXPECT_FALSE(std::isnan(x));
}

TEST(SoftpickNormalizer, BiasOfMinusInfinityIsAKeptKey) {
  Matrix z = logitsOf(1.0);
  for (std::vector<double> &row : z)
    row[3] = -INFINITY;
  z[4] = std::vector<double>(kSize, -INFINITY);
  const OneHead head("softpick", z);
  Matrix expected = pickedFrom(z, false);
  expectClose(head.outputs(), expected, 1e-14);
  EXPECT_EQ(head.outputs()[4], std::vector<double>(kSize, 0.0));
  // It adds 1 to the denominator.
  double sum = 1.0;
  for (int64_t j : {0, 1, 2, 4})
    sum += std::fabs(std::exp(z[0][j]) - 1);
  for (int64_t j = 0; j < kSize; ++j)
    EXPECT_NEAR(head.outputs()[0][j], std::max(std::exp(z[0][j]) - 1, 0.0) / sum, 1e-14);
  const Matrix gradient = head.gradients();
  expectClose(gradient, pickedGradient(z, head.cotangents()), 1e-14);
  EXPECT_EQ(gradient[0][3], 0.0);
}

/// Results whose logits have errors of float32: scores are computed from `q` and `k`, and the bias
/// `z` is rounded to float32 after the score was subtracted from it, so that logits are near
/// `size`.
struct CancelledLogits {
  reference::Results exact;
  TensorMap found;

  explicit CancelledLogits(const Matrix &logits) {
    OneHead head("softpick", logits);
    head.inputs["q"] = randomInputs(head.encoding, {1, 1, 1, kSize, kSize, 4, kSize}, 9)["q"];
    const double *q = head.inputs["q"].data<double>(), *k = head.inputs["k"].data<double>();
    Matrix z = logits;
    for (int64_t i = 0; i < kSize; ++i)
      for (int64_t j = 0; j < kSize; ++j)
        for (int64_t d = 0; d < 4; ++d)
          z[i][j] -= 0.5 * q[4 * i + d] * k[4 * j + d];
    head.inputs["z"] = toTensor(z);
    exact = evaluated(head.encoding.program, head.inputs, true);
    for (std::vector<double> &row : z)
      for (double &x : row)
        x = static_cast<float>(x);
    head.inputs["z"] = toTensor(z);
    auto results = evaluated(head.encoding.program, head.inputs, true);
    for (const TensorMap *tensors : {&results.outputs, &results.gradients})
      for (const auto &[name, tensor] : *tensors)
        found[name] = tensor.clone();
  }

  reference::Report report() const { return *reference::compare(exact, found); }
  /// Returns the report if the errors of logits are not in the bound.
  reference::Report reportWithoutErrors() const {
    reference::Results other = exact;
    other.logitErrors.clear();
    return *reference::compare(other, found);
  }
};

TEST(SoftpickNormalizer, BoundsContainTheErrorsOfSmallLogits) {
  const CancelledLogits small(logitsOf(1e-4));
  EXPECT_TRUE(small.report().passes()) << small.report().table();
  for (const reference::TensorReport &tensor : small.reportWithoutErrors().tensors)
    EXPECT_FALSE(tensor.passes()) << "the errors exceed the relative bound: " << tensor.line();
  // An error that float32 does not explain fails.
  for (const char *name : {"o", "d_q", "d_k", "d_v", "d_z"}) {
    CancelledLogits wrong = small;
    wrong.found[name] = wrong.found[name].clone();
    for (double &x : wrong.found[name].values<double>())
      x *= 1.05;
    for (const reference::TensorReport &tensor : wrong.report().tensors)
      EXPECT_EQ(tensor.passes(), tensor.name != name) << tensor.line();
  }
  // Ordinary logits leave the bound nearly as it is.
  const CancelledLogits ordinary(logitsOf(1.0));
  const auto with = ordinary.report().tensors, without = ordinary.reportWithoutErrors().tensors;
  for (size_t n = 0; n < with.size(); ++n)
    EXPECT_LT(with[n].bound, 2.0 * without[n].bound) << with[n].line();
}

TEST(SoftpickNormalizer, BoundsContainTheChangeOfASign) {
  Matrix z = logitsOf(1.0);
  z[2][3] = 1e-9;
  CancelledLogits changed(z);
  // The error of d_z at this pair is the jump of the derivative at 0.
  const Matrix exact = toMatrix(changed.exact.gradients["d_z"]),
               moved = toMatrix(changed.found["d_z"]);
  EXPECT_GT(std::fabs(exact[2][3] - moved[2][3]), 0.01) << "no sign has changed";
  EXPECT_TRUE(changed.report().passes()) << changed.report().table();
  EXPECT_FALSE(changed.reportWithoutErrors().passes());
  // Other pairs have no such error: this one cannot change its sign.
  z[2][3] = 1e-3;
  CancelledLogits wrong(z);
  wrong.found["d_z"].data<double>()[2 * kSize + 3] = moved[2][3];
  EXPECT_FALSE(wrong.report().passes()) << wrong.report().table();
}

/// Computes the effects of errors of logits from the derivatives by each logit, which differences
/// give.
TEST(SoftpickNormalizer, ErrorsAreDerivativesTimesTerms) {
  constexpr double h = 1e-6;
  for (double gain : {1.0, -3.0}) {
    OneHead head("softpick", logitsOf(0.5), false, {}, gain);
    head.inputs["q"] = randomInputs(head.encoding, {1, 1, 1, kSize, kSize, 4, kSize}, 9)["q"];
    const double *q = head.inputs["q"].data<double>(), *k = head.inputs["k"].data<double>();
    auto results = evaluated(head.encoding.program, head.inputs, true);
    Matrix ofGradients(kSize, std::vector<double>(kSize));
    double sum = 0.0, bound = 0.0;
    for (int64_t i = 0; i < kSize; ++i) {
      double ofOutput = 0.0;
      for (int64_t l = 0; l < kSize; ++l) {
        OneHead above = head, below = head;
        for (auto [moved, step] : {std::pair(&above, h), {&below, -h}}) {
          moved->inputs["z"] = head.inputs["z"].clone();
          moved->inputs["z"].data<double>()[i * kSize + l] += step;
        }
        double score = 0.0, terms = std::fabs(head.inputs["z"].data<double>()[i * kSize + l]);
        for (int64_t d = 0; d < 4; ++d) {
          score += 0.5 * q[4 * i + d] * k[4 * l + d];
          terms += std::fabs(gain) * 0.5 * std::fabs(q[4 * i + d] * k[4 * l + d]);
        }
        terms += gain == 1.0 ? 0.0 : std::fabs(gain * score);
        const Matrix o[] = {above.outputs(), below.outputs()};
        const Matrix dZ[] = {above.gradients(), below.gradients()};
        for (int64_t j = 0; j < kSize; ++j) {
          ofOutput += terms * std::fabs(o[0][i][j] - o[1][i][j]) / (2 * h);
          ofGradients[i][j] += terms * std::fabs(dZ[0][i][j] - dZ[1][i][j]) / (2 * h);
        }
      }
      EXPECT_NEAR(results.logitErrors["o"].values<double>()[i] / ofOutput, 1.0, 1e-6);
      for (int64_t j = 0; j < kSize; ++j) {
        const double found = toMatrix(results.logitErrors["d_z"])[i][j];
        EXPECT_GE(found * (1 + 1e-6), ofGradients[i][j]) << i << ", " << j;
        bound += found;
        sum += ofGradients[i][j];
      }
    }
    EXPECT_LT(bound, 3.0 * sum) << "the bound is loose";
  }
}

TEST(SoftpickNormalizer, LogitsWithoutWeightCountIfTheyMatter) {
  const std::vector<double> logits = {0.5, -3.0, -1e9, 0.25, -INFINITY};
  const OneHead head("softpick", matrixOf([&](int64_t, int64_t j) { return logits[j]; }));
  EXPECT_EQ(evaluated(head.encoding.program, head.inputs).maxLogit, 3.0);
}

TEST(SoftpickNormalizer, NotANumberReachesTheRow) {
  Matrix z = logitsOf(1.0);
  z[2][1] = NAN;
  const OneHead head("softpick", z);
  for (const Matrix &found : {head.outputs(), head.gradients()})
    for (int64_t i = 0; i < kSize; ++i)
      for (int64_t j = 0; j < kSize; ++j)
        EXPECT_EQ(std::isnan(found[i][j]), i == 2) << i << ", " << j;
  auto results = evaluated(head.encoding.program, head.inputs, true);
  for (double x : results.gradients["d_v"].values<double>())
    EXPECT_TRUE(std::isnan(x));
}

/// The rounding of the sum of A dA in a 16-bit computation reaches each logit by its slope.
TEST(SoftpickNormalizer, RoundingOfTheMeanFollowsSlopes) {
  const Matrix z = logitsOf(1.0);
  const OneHead head("softpick", z);
  auto rounded = reference::evaluate(head.encoding.program, head.inputs, {}, true,
                                     {.rounding = DType::BF16, .threads = 1});
  ASSERT_TRUE(rounded);
  const Matrix rounding = toMatrix(rounded->rounding.at("d_z"));
  for (int64_t i = 0; i < kSize; ++i) {
    EXPECT_GT(rounding[i][0], 0.0);
    for (int64_t j = 1; j < kSize; ++j)
      EXPECT_NEAR(rounding[i][j] / rounding[i][0], std::exp(z[i][j] - z[i][0]), 1e-12);
  }
}

/// Tests of every normalizer in which a row has no statistic.
class WithoutStatistic : public testing::TestWithParam<const char *> {};

TEST_P(WithoutStatistic, RowsWithoutKeysAreZero) {
  for (bool isCausal : {false, true}) {
    OneHead head(GetParam(), logitsOf(1.0), isCausal);
    // The first three queries are at negative positions, or precede all keys.
    Positions positions;
    positions.queryStart = isCausal ? 0 : -3;
    positions.keyStart = isCausal ? 3 : 0;
    auto results = evaluated(head.encoding.program, head.inputs, true, positions);
    const Matrix o = toMatrix(results.outputs["o"]);
    for (int64_t i = 0; i < 3; ++i)
      EXPECT_EQ(o[i], std::vector<double>(kSize, 0.0)) << i;
    EXPECT_NE(o[4], std::vector<double>(kSize, 0.0));
    for (double x : results.gradients["d_q"].slice(2, 0, 3).contiguous().values<double>())
      EXPECT_EQ(x, 0.0);
  }
}

TEST_P(WithoutStatistic, FactorsMultiplyTheWeights) {
  const Matrix z = logitsOf(1.0), factors = dropped();
  const OneHead plain(GetParam(), z), head(GetParam(), z, false, factors);
  const Matrix weights = plain.outputs(), dO = head.cotangents();
  expectClose(head.outputs(),
              matrixOf([&](int64_t i, int64_t j) { return weights[i][j] * factors[i][j]; }), 1e-15);
  expectClose(head.gradients(), head.differences(1e-3), 1e-8);
  expectClose(head.gradients("d_factors"),
              matrixOf([&](int64_t i, int64_t j) { return weights[i][j] * dO[i][j]; }), 1e-15);
}

TEST_P(WithoutStatistic, NoiseBoundsGradients) {
  const OneHead head(GetParam(), logitsOf(1.0));
  auto results = evaluated(head.encoding.program, head.inputs, true);
  const Matrix gradient = toMatrix(results.gradients["d_z"]);
  const Matrix noise = toMatrix(results.noise["d_z"]);
  for (int64_t i = 0; i < kSize; ++i)
    for (int64_t j = 0; j < kSize; ++j)
      EXPECT_GE(noise[i][j] * (1 + 1e-12), std::fabs(gradient[i][j]));
}

INSTANTIATE_TEST_SUITE_P(Normalizer, WithoutStatistic, testing::Values("sigmoid", "softpick"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace pe::test
