//===- NormalizerTest.cpp - Normalizers of the reference ------------------===//
//
// Tests what the operands and results of an attention may be under each normalizer, and the weights
// and gradients of some normalizers against directly written formulas and finite differences. Those
// of the others are tested as encodings (Encodings.cpp).
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/Normalizer.h"
#include "reference/Helpers.h"

#include <cmath>

namespace pe::test {
namespace {

using reference::Normalizer;

std::string errorOf(const ProgramBuilder &f) {
  const TensorMap inputs = randomInputs({"test", f.finish(), f.parameters()}, {}, 1);
  auto results = reference::evaluate(f.finish(), inputs, {}, false, {.rounding = {}, .threads = 1});
  return results ? "" : results.error().getMessage();
}

/// Adds a causal attention with a sink, if `sink` is not -1, which has its position among the
/// operands before the mask.
void addAttention(ProgramBuilder &f, const std::string &normalizer, int sink = -1,
                  const std::string &lseName = "") {
  ProgramBuilder::AttentionOptions options;
  options.normalizer = normalizer;
  options.score = sink;
  options.lseName = lseName;
  f.attention({}, {}, f.mask("pe.causal"), options);
}

/// The operands and results that a normalizer supports.
struct Support {
  const char *keyword;
  bool takesSink, hasStatistic, merges;
};
constexpr Support kSupport[] = {{"softmax", true, true, true},
                                {"stick_breaking", false, true, true},
                                {"sigmoid", false, false, false}};

TEST(Normalizers, AreFoundByTheirKeyword) {
  for (const Support &support : kSupport) {
    ASSERT_NE(Normalizer::find(support.keyword), nullptr) << support.keyword;
    EXPECT_EQ(Normalizer::find(support.keyword)->keyword(), support.keyword);
  }
  EXPECT_EQ(Normalizer::find("sparsemax"), nullptr);
}

TEST(Normalizers, UnknownOnesAreRefusedWithTheList) {
  ProgramBuilder f;
  addAttention(f, "sparsemax");
  EXPECT_NE(errorOf(f).find("expected normalizer 'softmax', 'stick_breaking' or 'sigmoid', found "
                            "'sparsemax'"),
            std::string::npos)
      << errorOf(f);
}

/// Expects that the program is accepted or that its error contains `refusal`.
void expectSupport(const ProgramBuilder &f, bool isSupported, const std::string &refusal) {
  const std::string error = errorOf(f);
  EXPECT_EQ(error.empty(), isSupported) << error;
  EXPECT_EQ(error.find(refusal) != std::string::npos, !isSupported) << error;
}

TEST(Normalizers, SinksRequireADenominator) {
  for (const Support &support : kSupport) {
    ProgramBuilder f;
    addAttention(f, support.keyword, f.parameter("sink", {f.heads}));
    expectSupport(f, support.takesSink, "expected no sink under the normalizer");
  }
}

TEST(Normalizers, RowsWithoutStatisticHaveOneResult) {
  for (const Support &support : kSupport) {
    ProgramBuilder f;
    addAttention(f, support.keyword, -1, "lse");
    expectSupport(f, support.hasStatistic, "expected one result under the normalizer");
  }
}

TEST(Normalizers, OptionsOfOrderedKeysAreRefusedWithoutAnOrder) {
  for (const auto &[name, value] : {std::pair("attend_current", ProgramBuilder::Json(true)),
                                    std::pair("remainder", ProgramBuilder::Json("value")),
                                    std::pair("direction", ProgramBuilder::Json("both"))}) {
    ProgramBuilder f;
    ProgramBuilder::AttentionOptions options;
    options.attributes = {{name, value}};
    f.attention({}, {}, f.mask("pe.causal"), options);
    EXPECT_NE(errorOf(f).find("expected no attend_current, remainder or direction"),
              std::string::npos)
        << name << errorOf(f);
  }
}

/// Returns a merge of an attention with itself.
ProgramBuilder mergeWith(const std::string &normalizer, bool hasSink) {
  ProgramBuilder f;
  const int sink = hasSink ? f.parameter("sink", {f.heads}) : -1;
  ProgramBuilder::AttentionOptions options;
  options.lseName = "lse";
  const int o = f.attention({}, {}, f.noMask, options);
  std::vector<int> operands = {o, o + 1, o, o + 1};
  if (hasSink)
    operands.push_back(sink);
  f.add("pe.merge", operands, {"tensor<?x?x?x?xf32>", "tensor<?x?x?xf32>"},
        {{"normalizer", normalizer}});
  return f;
}

TEST(Normalizers, OnlySomeCanBeMerged) {
  for (const Support &support : kSupport) {
    const std::string found = std::string("found '") + support.keyword + "'";
    expectSupport(mergeWith(support.keyword, false), support.merges,
                  "expected normalizer 'softmax' or 'stick_breaking', " + found);
    if (support.merges)
      expectSupport(mergeWith(support.keyword, true), support.takesSink, "expected no sink");
  }
  expectSupport(mergeWith("sparsemax", false), false, "found 'sparsemax'");
}

//===----------------------------------------------------------------------===//
// Weights and gradients
//===----------------------------------------------------------------------===//

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

  OneHead(const std::string &normalizer, const Matrix &z, bool isCausal = false,
          const Matrix &factors = {}) {
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

INSTANTIATE_TEST_SUITE_P(Normalizer, WithoutStatistic, testing::Values("sigmoid"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace pe::test
