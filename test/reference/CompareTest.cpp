//===- CompareTest.cpp - The comparator fails on corrupted results --------===//
//
// The comparator must be able to fail. Each test damages a correct f32 result in one way and
// expects that exactly the damaged tensor fails.
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/Compare.h"
#include "reference/Helpers.h"

#include <cmath>
#include <limits>

namespace pe::test {
namespace {

class Corruption : public testing::Test {
protected:
  void SetUp() override {
    Encoding encoding = encodingNamed("fire", 8);
    reference = evaluated(encoding.program,
                          randomInputs(encoding, {1, 2, 2, 16, 16, 8, 8}, 3, DType::F32), true);
    for (const TensorMap *tensors : {&reference.outputs, &reference.gradients})
      for (const auto &[name, tensor] : *tensors)
        found[name] = *convert(tensor, DType::F32);
  }

  reference::Report judge(const reference::CompareOptions &options = {}) const {
    auto report = reference::compare(reference, found, options);
    EXPECT_TRUE(report);
    return *report;
  }

  void expectOnlyFailure(const std::string &name) const {
    reference::Report report = judge();
    EXPECT_FALSE(report.passes());
    EXPECT_GT(report.worstShare(), 1.0);
    for (const reference::TensorReport &tensor : report.tensors)
      EXPECT_EQ(tensor.passes(), tensor.name != name) << report.table();
  }

  float *elements(const std::string &name) {
    found[name] = found[name].clone();
    return found[name].data<float>();
  }

  reference::Results reference;
  TensorMap found;
};

TEST_F(Corruption, CorrectResultsPass) {
  reference::Report report = judge();
  EXPECT_TRUE(report.passes()) << report.table();
  EXPECT_LT(report.worstShare(), 0.1) << "rounding to fp32 alone";
  EXPECT_EQ(report.tensors.size(), 1u + 3u + 6u);
}

/// The bound of a 16-bit computation grows with its unavoidable rounding error.
TEST(RoundedComputation, BoundFollowsRounding) {
  Encoding encoding = encodingNamed("fire", 8);
  TensorMap inputs = randomInputs(encoding, {1, 2, 2, 16, 16, 8, 8}, 3, DType::BF16);
  reference::Results exact = evaluated(encoding.program, inputs, true);
  for (DType dtype : {DType::BF16, DType::F16}) {
    auto rounded =
        reference::evaluate(encoding.program, inputs, {}, true, {.rounding = dtype, .threads = 1});
    ASSERT_TRUE(rounded);
    TensorMap found;
    for (const TensorMap *tensors : {&rounded->outputs, &rounded->gradients})
      found.insert(tensors->begin(), tensors->end());
    reference::CompareOptions options;
    options.computation = dtype;
    EXPECT_FALSE(reference::compare(exact, found, options)); // no rounded evaluation
    options.rounded = &*rounded;
    auto report = reference::compare(exact, found, options);
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->passes()) << report->table();
    EXPECT_GT(report->worstShare(), 0.2); // the rounding error is counted
    // Ten times the rounding error of the output exceeds the bound.
    Tensor o = found["o"].clone();
    const Tensor &true_o = exact.outputs.at("o");
    for (int64_t e = 0; e < o.numel(); ++e)
      o.data<double>()[e] =
          true_o.data<double>()[e] + 10 * (o.data<double>()[e] - true_o.data<double>()[e]);
    found["o"] = o;
    EXPECT_FALSE(reference::compare(exact, found, options)->passes());
  }
}

/// A result whose rounding error exceeds its size is compared with the rounded evaluation.
TEST_F(Corruption, ResultsDominatedByRoundingUseTheRoundedEvaluation) {
  reference::Results rounded = reference;
  Tensor &moved = rounded.gradients.at("d_q");
  moved = moved.clone();
  for (double &element : moved.values<double>())
    element *= 5.0;
  for (float factor : {5.0f, 5.1f}) {
    float *d_q = elements("d_q");
    for (int64_t e = 0; e < moved.numel(); ++e)
      d_q[e] = factor * static_cast<float>(reference.gradients.at("d_q").values<double>()[e]);
    reference::CompareOptions options;
    options.computation = DType::BF16;
    options.rounded = &rounded;
    for (const reference::TensorReport &tensor : judge(options).tensors) {
      EXPECT_EQ(tensor.isAgainstRounded, tensor.name == "d_q") << tensor.line();
      EXPECT_EQ(tensor.passes(), tensor.name != "d_q" || factor == 5.0f) << tensor.line();
    }
    found["d_q"] = *convert(reference.gradients.at("d_q"), DType::F32);
  }
}

/// Results computed from values below the range of f32 may be 0.
TEST_F(Corruption, UnderflowIsNotAnError) {
  Tensor &tiny = reference.gradients.at("d_q");
  tiny = tiny.clone();
  for (double &element : tiny.values<double>())
    element *= 1e-40;
  reference.noise.erase("d_q");
  for (float each : {0.0f, 1e-25f}) {
    float *d_q = elements("d_q");
    std::fill(d_q, d_q + tiny.numel(), each);
    for (const reference::TensorReport &tensor : judge().tensors)
      if (tensor.name == "d_q") {
        EXPECT_EQ(tensor.passes(), each == 0.0f) << tensor.line();
      }
  }
}

TEST_F(Corruption, OneElementChanged) {
  for (const char *name : {"o", "d_q", "d_k", "d_v", "d_w1", "d_c"}) {
    SetUp();
    elements(name)[0] += 0.01f * static_cast<float>(1.0 + std::fabs(elements(name)[0]));
    expectOnlyFailure(name);
  }
}

TEST_F(Corruption, AllElementsSlightlyWrong) {
  float *o = elements("o");
  for (int64_t e = 0; e < found["o"].numel(); ++e)
    o[e] *= 1.0f + 3e-5f;
  expectOnlyFailure("o");
}

TEST_F(Corruption, TransposedTensor) {
  // Swaps heads and queries and restores the shape: the same values in other places.
  Tensor swapped = found["d_v"].transpose(1, 2).contiguous();
  found["d_v"] = swapped.reshape(found["d_v"].shape());
  expectOnlyFailure("d_v");
}

TEST_F(Corruption, WrongShape) {
  found["o"] = found["o"].transpose(1, 2).contiguous();
  expectOnlyFailure("o");
}

TEST_F(Corruption, NotANumber) {
  elements("d_k")[5] = std::nanf("");
  expectOnlyFailure("d_k");
}

TEST_F(Corruption, Infinity) {
  elements("o")[5] = std::numeric_limits<float>::infinity();
  expectOnlyFailure("o");
}

TEST_F(Corruption, MissingTensor) {
  found.erase("d_w2");
  expectOnlyFailure("d_w2");
}

TEST_F(Corruption, UnexpectedTensor) {
  found["d_nothing"] = found["o"];
  expectOnlyFailure("d_nothing");
}

TEST_F(Corruption, ZeroedGradient) {
  for (const char *name : {"d_q", "d_k", "d_v", "d_c", "d_L_multiplier", "d_w1", "d_b1", "d_w2"}) {
    SetUp();
    std::fill_n(elements(name), found[name].numel(), 0.0f);
    expectOnlyFailure(name);
  }
}

TEST_F(Corruption, NegatedGradient) {
  float *gradient = elements("d_w1");
  for (int64_t e = 0; e < found["d_w1"].numel(); ++e)
    gradient[e] = -gradient[e];
  expectOnlyFailure("d_w1");
}

TEST_F(Corruption, ZeroReferenceIsBoundedByTheCancelledTerms) {
  // The gradient of the output's bias is zero under softmax. An error well below the sum of |dS| is
  // rounding, an error near it is not.
  double magnitude = reference.magnitudes["d_b2"].values<double>()[0];
  elements("d_b2")[0] = static_cast<float>(0.5e-5 * magnitude);
  EXPECT_TRUE(judge().passes()) << judge().table();
  elements("d_b2")[0] = static_cast<float>(1e-3 * magnitude);
  expectOnlyFailure("d_b2");
}

TEST_F(Corruption, CancelledResultsAreComparedAbsolutely) {
  reference::Report report = judge();
  for (const reference::TensorReport &tensor : report.tensors) {
    EXPECT_EQ(tensor.isAbsolute(), tensor.name == "d_b2") << tensor.line();
    EXPECT_TRUE(tensor.isBounded()) << tensor.line();
    if (tensor.name == "d_b2") {
      EXPECT_NE(tensor.line().find("abs error"), std::string::npos) << tensor.line();
      EXPECT_GT(tensor.scale, 1e3 * tensor.bound)
          << "the bound is small compared to the terms that cancelled";
    }
  }
}

TEST_F(Corruption, BoundsGrowWithTheLogits) {
  float *o = elements("o");
  for (int64_t e = 0; e < found["o"].numel(); ++e)
    o[e] *= 1.0f + 3e-5f;
  EXPECT_FALSE(judge().passes());
  reference.maxLogit = 100.0; // 4 * 2^-24 * 100 = 2.4e-5
  EXPECT_TRUE(judge().passes()) << judge().table();
}

TEST_F(Corruption, RelativeBoundAboveOneFails) {
  reference.maxLogit = 1e7; // 4 * 2^-24 * 1e7 = 2.4
  reference::Report report = judge();
  EXPECT_FALSE(report.passes());
  EXPECT_TRUE(std::isinf(report.worstShare()));
  EXPECT_EQ(report.findUnbounded(), "o");
  for (const reference::TensorReport &tensor : report.tensors) {
    EXPECT_FALSE(tensor.passes()) << tensor.line();
    EXPECT_NE(tensor.line().find("NO BOUND"), std::string::npos) << tensor.line();
  }
}

TEST_F(Corruption, NanComparesEqualToNan) {
  Tensor expected = reference.outputs["o"].clone();
  expected.data<double>()[5] = std::nan("");
  reference.outputs["o"] = expected;
  expectOnlyFailure("o");
  elements("o")[5] = -std::nanf(""); // a meaningless sign
  EXPECT_TRUE(judge().passes()) << judge().table();
  elements("o")[5] = 1.0f;
  EXPECT_NE(judge().table().find("element 5: expected nan, found 1"), std::string::npos)
      << judge().table();
}

TEST_F(Corruption, NonFiniteElementsDoNotAffectTheOthers) {
  const float nan = std::nanf("");
  reference.gradients["d_b1"].data<double>()[0] = nan;
  reference.magnitudes["d_b1"].data<double>()[0] = nan;
  expectOnlyFailure("d_b1");
  elements("d_b1")[0] = nan;
  reference::Report report = judge();
  EXPECT_TRUE(report.passes()) << report.table();
  EXPECT_NE(report.table().find("(1 elements are not finite, as in the reference)  ok"),
            std::string::npos)
      << report.table();
}

TEST_F(Corruption, TensorWithoutFiniteElementsFails) {
  reference.gradients["d_c"].data<double>()[0] = std::nan("");
  reference.magnitudes["d_c"].data<double>()[0] = std::nan("");
  elements("d_c")[0] = std::nanf("");
  reference::Report report = judge();
  EXPECT_FALSE(report.passes());
  ASSERT_NE(report.findNothingFinite(), nullptr);
  EXPECT_EQ(report.findNothingFinite()->name, "d_c");
  EXPECT_NE(report.table().find("(none of 1 elements is finite, as in the reference)  FAILED"),
            std::string::npos)
      << report.table();
}

/// Only a term that is declared an approximation may have the error that the contract allows for
/// approximations.
TEST(Compare, ApproximationsApplyOnlyToTheirParameters) {
  auto approximations = reference::approximationsOf(
      R"({"attentions": [{"terms": [{"tolerance": 1e-5, "parameters": ["c", "w1"]},
                                    {"tolerance": null, "parameters": ["w2"]}]}]})");
  ASSERT_TRUE(approximations);
  ASSERT_EQ(approximations->size(), 1u);
  EXPECT_EQ((*approximations)[0].parameters, (std::vector<std::string>{"c", "w1"}));
  EXPECT_FALSE(reference::approximationsOf("no json"));
  Encoding encoding = encodingNamed("fire_gelu", 8);
  auto results =
      evaluated(encoding.program, randomInputs(encoding, {1, 2, 2, 16, 16, 8, 8}, 3), true);
  reference::CompareOptions options;
  options.approximations = *approximations;
  auto passesWith = [&](const char *name, double factor) {
    TensorMap found;
    for (const TensorMap *tensors : {&results.outputs, &results.gradients})
      for (const auto &[key, tensor] : *tensors)
        found[key] = tensor.clone();
    for (int64_t e = 0, end = found[name].numel(); e < end; ++e)
      found[name].data<double>()[e] *= factor;
    return reference::compare(results, found, options)->passes();
  };
  EXPECT_TRUE(passesWith("d_c", 1 + 1.5e-3));
  EXPECT_FALSE(passesWith("d_c", 1 + 5e-2));
  EXPECT_FALSE(passesWith("d_w2", 1 + 5e-2));
  EXPECT_TRUE(passesWith("o", 1 + 2.5e-5));
  EXPECT_FALSE(passesWith("o", 1 + 5e-5));
}

/// GELU is evaluated as written and gets no tolerance for approximation.
TEST(Compare, SmoothActivationsGetNoExtraTolerance) {
  Encoding encoding = encodingNamed("fire_gelu", 8);
  auto results =
      evaluated(encoding.program, randomInputs(encoding, {1, 2, 2, 16, 16, 8, 8}, 3), true);
  TensorMap found;
  for (const TensorMap *tensors : {&results.outputs, &results.gradients})
    for (const auto &[name, tensor] : *tensors)
      found[name] = tensor.clone();
  EXPECT_TRUE(reference::compare(results, found)->passes());
  found["d_c"].data<double>()[0] *= 1.0 + 1e-3;
  EXPECT_FALSE(reference::compare(results, found)->passes());
}

/// The largest logit is over pairs with weight: pairs masked by -1e9 do not count.
TEST(Compare, MaskedLogitsDoNotLoosenTheBound) {
  for (const char *name : {"nope", "stick_breaking"}) {
    Encoding encoding = encodingNamed(name);
    TensorMap inputs = randomInputs(encoding, {1, 1, 1, 8, 8, 8, 8}, 3);
    for (const char *side : {"q", "k"})
      for (int64_t e = 0; e < 8; ++e) // one element contains the masking value
        inputs[side].data<double>()[8 * e] = side[0] == 'q' ? 1.0 : 0.0;
    inputs["k"].data<double>()[8 * 2] = -1e9;
    auto results = evaluated(encoding.program, inputs);
    EXPECT_LT(results.maxLogit, 20.0) << name;
    EXPECT_GT(results.maxLogit, 0.1) << name;
    // In a row of masked pairs only, they are the pairs with weight.
    for (int64_t e = 0; e < 8; ++e)
      inputs["k"].data<double>()[8 * e] = name[0] == 'n' ? -1e9 : 1e9;
    EXPECT_GT(evaluated(encoding.program, inputs).maxLogit, 1e8) << name;
  }
}

/// The bound of a result whose terms cancel exactly is relative to the terms: values that sum to
/// zero.
TEST(Compare, ZeroByCancellationIsBoundedByItsTerms) {
  Encoding encoding = encodingNamed("log_sum_exp");
  TensorMap inputs = randomInputs(encoding, {1, 2, 1, 2, 2, 8, 8}, 3);
  auto fill = [&](const std::string &name, auto value) {
    Tensor &tensor = inputs[name];
    for (int64_t e = 0; e < tensor.numel(); ++e)
      tensor.data<double>()[e] = value(e);
  };
  fill("q", [](int64_t) { return 0.0; });
  fill("v", [](int64_t e) { return e < 8 ? 3.0 : -3.0; });
  Positions bothKeys;
  bothKeys.queryStart = 4;
  auto results = evaluated(encoding.program, inputs, false, bothKeys);
  TensorMap found;
  for (const auto &[name, tensor] : results.outputs)
    found[name] = tensor.clone();
  for (double x : found["o"].values<double>())
    ASSERT_EQ(x, 0.0);
  found["o"].data<double>()[0] = 1e-7;
  auto report = reference::compare(results, found);
  EXPECT_TRUE(report->passes()) << report->table();
  EXPECT_TRUE(report->tensors[1].isAbsolute()) << report->table();
  found["o"].data<double>()[0] = 1e-4;
  EXPECT_FALSE(reference::compare(results, found)->passes());
}

TEST(Compare, MaskedRowsMustBeExact) {
  Encoding encoding = encodingNamed("log_sum_exp");
  TensorMap inputs = randomInputs(encoding, {1, 1, 1, 4, 2, 8, 8}, 3);
  Positions before;
  before.queryStart = -8;
  auto results = evaluated(encoding.program, inputs, true, before);
  TensorMap found;
  for (const TensorMap *tensors : {&results.outputs, &results.gradients})
    for (const auto &[name, tensor] : *tensors)
      found[name] = tensor.clone();
  EXPECT_TRUE(reference::compare(results, found)->passes());
  found["o"].data<double>()[0] = 1e-30;
  EXPECT_FALSE(reference::compare(results, found)->passes()) << "o is 0 without keys";
  found["o"].data<double>()[0] = 0.0;
  found["lse"].data<double>()[0] = -1e30;
  EXPECT_FALSE(reference::compare(results, found)->passes()) << "lse is -inf without keys";
}

TEST(Compare, SaturatedRowsAreBoundedByTheCancelledTerms) {
  // With one key the softmax weight is 1 and dq is exactly 0; a kernel's rounding error may remain.
  Encoding encoding = encodingNamed("nope");
  auto results =
      evaluated(encoding.program, randomInputs(encoding, {1, 1, 1, 1, 1, 64, 64}, 3), true);
  for (double x : results.gradients["d_q"].values<double>())
    ASSERT_EQ(x, 0.0);
  TensorMap found;
  for (const TensorMap *tensors : {&results.outputs, &results.gradients})
    for (const auto &[name, tensor] : *tensors)
      found[name] = tensor.clone();
  double noise = results.noise["d_q"].values<double>()[0];
  found["d_q"].data<double>()[0] = 1e-7 * noise;
  EXPECT_TRUE(reference::compare(results, found)->passes());
  found["d_q"].data<double>()[0] = 1e-3 * noise;
  EXPECT_FALSE(reference::compare(results, found)->passes());
}

/// For one pair at distance 0 db/dslope is 0; a kernel's rounding error may remain.
TEST(Compare, ParametersWithoutInfluenceAreBoundedByTheScoreNoise) {
  Encoding encoding = encodingNamed("alibi_learned");
  TensorMap inputs = randomInputs(encoding, {1, 2, 2, 1, 1, 8, 8}, 3);
  auto results = evaluated(encoding.program, inputs, true);
  for (double x : results.gradients["d_slopes"].values<double>())
    ASSERT_EQ(x, 0.0);
  TensorMap found;
  for (const TensorMap *tensors : {&results.outputs, &results.gradients})
    for (const auto &[name, tensor] : *tensors)
      found[name] = tensor.clone();
  found["d_slopes"].data<double>()[0] = 1e-7;
  EXPECT_TRUE(reference::compare(results, found)->passes());
  found["d_slopes"].data<double>()[0] = 1e-3;
  EXPECT_FALSE(reference::compare(results, found)->passes());
}

/// A weight of e^-1000 is 0 in float64 and may be one of the smallest values in f32.
TEST(Compare, WeightsMayUnderflow) {
  Encoding encoding = encodingNamed("stick_breaking");
  TensorMap inputs = randomInputs(encoding, {1, 1, 1, 1, 1, 8, 8}, 3);
  for (int64_t e = 0; e < 8; ++e) {
    inputs["q"].data<double>()[e] = -100.0;
    inputs["k"].data<double>()[e] = 100.0;
  }
  Positions after;
  after.queryStart = 1;
  auto results = evaluated(encoding.program, inputs, true, after);
  TensorMap found;
  for (const TensorMap *tensors : {&results.outputs, &results.gradients})
    for (const auto &[name, tensor] : *tensors) {
      found[name] = tensor.clone();
      for (int64_t e = 0; e < 8; ++e) {
        ASSERT_EQ(tensor.values<double>()[e], 0.0) << name;
        found[name].data<double>()[e] = 1e-38;
      }
    }
  EXPECT_TRUE(reference::compare(results, found)->passes())
      << reference::compare(results, found)->table();
  found["o"].data<double>()[0] = 1e-34;
  EXPECT_FALSE(reference::compare(results, found)->passes());
}

TEST(Compare, UnstatedTolerancesAreRefused) {
  EXPECT_FALSE(reference::toleranceOf(DType::F8E4M3));
  EXPECT_TRUE(reference::toleranceOf(DType::F32));
}

TEST(Compare, BitwiseDifferencesAreNamed) {
  TensorMap a = {{"o", Tensor::scalar(0.0f)}, {"p", Tensor::scalar(1.0f)}}, b = a;
  EXPECT_EQ(reference::findBitwiseDifference(a, b), "");
  b["o"] = Tensor::scalar(-0.0f);
  EXPECT_EQ(reference::findBitwiseDifference(a, b), "o") << "the sign of zero is a bit";
  b = a;
  b.erase("p");
  EXPECT_EQ(reference::findBitwiseDifference(a, b), "p");
  EXPECT_EQ(reference::findBitwiseDifference(b, a), "p");
}

} // namespace
} // namespace pe::test
