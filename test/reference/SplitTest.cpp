//===- SplitTest.cpp - Parts of a call agree with the entire call ---------===//
//
// Splits queries, keys and heads by their positions, and merges partial results over key ranges
// with the log-sum-exp (softmax) or the remaining mass (stick-breaking).
//
//===----------------------------------------------------------------------===//

#include "reference/Helpers.h"
#include "runtime/reference/Masks.h"

#include <cmath>

namespace pe::test {
namespace {

constexpr int64_t kKeys = 11, kQueries = 7;
const CallShape kShape{2, 4, 2, kQueries, kKeys, 4, 4};

/// Restricts the inputs to the heads [begin, end).
TensorMap selectHeads(const Encoding &encoding, TensorMap inputs, int64_t begin, int64_t end) {
  int64_t group = kShape.queryHeads / kShape.keyHeads;
  inputs["k"] = inputs["k"].slice(1, begin / group, end / group);
  inputs["v"] = inputs["v"].slice(1, begin / group, end / group);
  for (const char *name : {"q", "d_o"})
    inputs[name] = inputs[name].slice(1, begin, end);
  for (const ProgramBuilder::Parameter &parameter : encoding.parameters)
    for (size_t axis = 0; axis < parameter.dims.size(); ++axis)
      if (parameter.dims[axis] == ProgramBuilder::heads)
        inputs[parameter.name] = inputs[parameter.name].slice(axis, begin, end);
  return inputs;
}

class Splits : public testing::TestWithParam<std::string> {
protected:
  Encoding encoding = encodingNamed(GetParam(), 4);
  TensorMap inputs = randomInputs(encoding, kShape, 17);
};

TEST_P(Splits, QueriesByTheirStart) {
  auto whole = evaluated(encoding.program, inputs, true);
  Tensor keyGradient = Tensor::zeros(DType::F64, whole.gradients["d_k"].shape());
  for (int64_t begin : {int64_t(0), int64_t(3)}) {
    int64_t end = begin == 0 ? 3 : kQueries;
    TensorMap part = inputs;
    part["q"] = inputs["q"].slice(2, begin, end);
    part["d_o"] = inputs["d_o"].slice(2, begin, end);
    Positions positions;
    positions.queryStart = kKeys - kQueries + begin;
    auto results = evaluated(encoding.program, part, true, positions);
    expectNear(results.outputs["o"], whole.outputs["o"].slice(2, begin, end), 0.0);
    expectNear(results.gradients["d_q"], whole.gradients["d_q"].slice(2, begin, end), 0.0);
    for (int64_t e = 0; e < keyGradient.numel(); ++e)
      keyGradient.values<double>()[e] += results.gradients["d_k"].values<double>()[e];
  }
  expectNear(keyGradient, whole.gradients["d_k"], 1e-13);
}

TEST_P(Splits, HeadsByTheirStart) {
  auto whole = evaluated(encoding.program, inputs, true);
  for (int64_t begin : {int64_t(0), int64_t(2)}) {
    Positions positions;
    positions.headStart = begin;
    positions.headsTotal = kShape.queryHeads;
    TensorMap part = selectHeads(encoding, inputs, begin, begin + 2);
    auto results = evaluated(encoding.program, part, true, positions);
    expectNear(results.outputs["o"], whole.outputs["o"].slice(1, begin, begin + 2), 0.0);
    expectNear(results.gradients["d_q"], whole.gradients["d_q"].slice(1, begin, begin + 2), 0.0);
  }
}

TEST_P(Splits, OnlyProgressiveEncodingsDependOnAbsolutePositions) {
  // Shifts all positions by the same offset, which changes i and j but not i - j.
  auto whole = evaluated(encoding.program, inputs);
  Positions moved;
  moved.keyStart = 40;
  auto results = evaluated(encoding.program, inputs, false, moved);
  double largest = 0.0;
  for (int64_t e = 0; e < whole.outputs["o"].numel(); ++e)
    largest = std::max(largest, std::fabs(results.outputs["o"].values<double>()[e] -
                                          whole.outputs["o"].values<double>()[e]));
  if (GetParam() == "fire_short" || GetParam() == "fire_no_threshold")
    EXPECT_GT(largest, 1e-3);
  else
    EXPECT_LT(largest, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Split, Splits,
                         testing::Values("nope", "alibi", "alibi_interleaved", "alibi_learned",
                                         "t5", "kerple_log", "rope", "fire", "fire_short",
                                         "fire_no_threshold", "custom_bias", "stick_breaking",
                                         "rse"),
                         [](const auto &info) { return info.param; });

/// Results of the same queries over the keys [0, split) and [split, kKeys).
struct Halves {
  reference::Results far;
  reference::Results near;
};

Halves splitKeys(const Encoding &encoding, const TensorMap &inputs, int64_t split) {
  auto part = [&](int64_t begin, int64_t end) {
    TensorMap half = inputs;
    half["k"] = inputs.at("k").slice(2, begin, end);
    half["v"] = inputs.at("v").slice(2, begin, end);
    Positions positions;
    positions.keyStart = begin;
    positions.queryStart = kKeys - kQueries;
    return evaluated(encoding.program, half, false, positions);
  };
  return {part(0, split), part(split, kKeys)};
}

TEST(SplitKeys, SoftmaxMergesByLogSumExp) {
  Encoding encoding = encodingNamed("two_attentions", 4);
  ProgramBuilder f;
  ProgramBuilder::AttentionOptions options;
  options.lseName = "lse";
  int slopes = f.parameter("slopes", {ProgramBuilder::heads});
  int bias = f.bias("pe.linear", {f.coordinate("pe.distance"), slopes},
                    {{"factor", -1.0}, {"operandSegmentSizes", {1, 1, 0}}});
  f.attention({bias}, {}, f.mask("pe.causal"), options);
  encoding = {"lse", f.finish(), f.parameters()};
  TensorMap inputs = randomInputs(encoding, kShape, 17);
  auto whole = evaluated(encoding.program, inputs);
  // With a split at 8, the first queries (from position 4 on) have no near key.
  Halves halves = splitKeys(encoding, inputs, 8);
  auto lse = whole.outputs["lse"].values<double>();
  for (size_t row = 0; row < lse.size(); ++row) {
    double far = halves.far.outputs["lse"].values<double>()[row];
    double near = halves.near.outputs["lse"].values<double>()[row];
    EXPECT_NEAR(std::log(std::exp(far) + std::exp(near)), lse[row], 1e-13);
    for (int64_t d = 0; d < 4; ++d) {
      auto o = [&](reference::Results &results) {
        return results.outputs["o"].values<double>()[row * 4 + d];
      };
      double merged =
          std::exp(far - lse[row]) * o(halves.far) + std::exp(near - lse[row]) * o(halves.near);
      EXPECT_NEAR(merged, o(whole), 1e-13);
    }
  }
}

TEST(SplitKeys, StickBreakingMergesByRemainingMass) {
  Encoding encoding = encodingNamed("log_of_mass_left");
  TensorMap inputs = randomInputs(encoding, kShape, 17);
  auto whole = evaluated(encoding.program, inputs);
  Halves halves = splitKeys(encoding, inputs, 8);
  auto remaining = whole.outputs["r"].values<double>();
  for (size_t row = 0; row < remaining.size(); ++row) {
    double near = halves.near.outputs["r"].values<double>()[row];
    EXPECT_NEAR(halves.far.outputs["r"].values<double>()[row] + near, remaining[row], 1e-13);
    for (int64_t d = 0; d < 4; ++d) {
      auto o = [&](reference::Results &results) {
        return results.outputs["o"].values<double>()[row * 4 + d];
      };
      EXPECT_NEAR(o(halves.near) + std::exp(near) * o(halves.far), o(whole), 1e-13);
    }
  }
}

// With the remainder the weights of a row sum to 1, for one side and for the mean of both.
TEST(Remainder, WeightsAddUpToOne) {
  for (const char *name : {"stick_breaking_own", "both_sides_and_remainder"}) {
    Encoding encoding = encodingNamed(name);
    TensorMap inputs = randomInputs(encoding, {1, 2, 2, 6, 6, 4, 4}, 17);
    for (double &x : inputs["v"].values<double>())
      x = 1.0;
    auto results = evaluated(encoding.program, inputs);
    for (double x : results.outputs["o"].values<double>())
      EXPECT_NEAR(x, 1.0, 1e-13) << name;
  }
}

// Reversing the order of queries and keys reverses the outputs, because both sides are symmetric.
TEST(BothSides, ReversedInputsReverseTheOutputs) {
  ProgramBuilder f;
  ProgramBuilder::AttentionOptions options;
  options.normalizer = "stick_breaking";
  options.attributes = {{"direction", "#pe.direction<both>"}};
  f.attention({}, {}, ProgramBuilder::noMask, options);
  Encoding encoding{"both", f.finish(), {}};
  constexpr int64_t length = 7, depth = 4;
  TensorMap inputs = randomInputs(encoding, {1, 1, 1, length, length, depth, depth}, 17);
  auto turned = [&](const Tensor &rows) {
    Tensor result = Tensor::zeros(DType::F64, rows.shape());
    for (int64_t row = 0; row < length; ++row)
      for (int64_t d = 0; d < depth; ++d)
        result.values<double>()[row * depth + d] =
            rows.values<double>()[(length - 1 - row) * depth + d];
    return result;
  };
  TensorMap reversed = inputs;
  for (const char *name : {"q", "k", "v"})
    reversed[name] = turned(inputs[name]);
  auto o = evaluated(encoding.program, inputs).outputs["o"];
  auto back = turned(evaluated(encoding.program, reversed).outputs["o"]);
  for (int64_t e = 0; e < o.numel(); ++e)
    EXPECT_NEAR(o.values<double>()[e], back.values<double>()[e], 1e-14);
}

TEST(Masked, RowsWithoutKeysAreZeroWithZeroGradients) {
  for (const char *name : {"log_sum_exp", "fire", "rse", "alibi_bidirectional"}) {
    Encoding encoding = encodingNamed(name, 4);
    TensorMap inputs = randomInputs(encoding, kShape, 17);
    Positions before;
    before.queryStart = -100;
    auto results = evaluated(encoding.program, inputs, true, before);
    for (double x : results.outputs["o"].values<double>())
      EXPECT_EQ(x, 0.0) << name;
    for (const auto &[gradientName, gradient] : results.gradients)
      for (double x : gradient.values<double>())
        EXPECT_EQ(x, 0.0) << name << " " << gradientName;
    if (results.outputs.contains("lse"))
      for (double x : results.outputs["lse"].values<double>())
        EXPECT_EQ(x, -std::numeric_limits<double>::infinity());
  }
}

TEST(Masked, NoRowIsEmptyIfNothingReadsAPosition) {
  Encoding encoding = encodingNamed("bidirectional");
  TensorMap inputs = randomInputs(encoding, {1, 1, 1, 5, 3, 4, 4}, 17);
  Positions before;
  before.queryStart = -100;
  const auto here = evaluated(encoding.program, inputs, true);
  const auto there = evaluated(encoding.program, inputs, true, before);
  for (double x : here.outputs.at("o").values<double>())
    EXPECT_NE(x, 0.0);
  for (const auto &[name, gradient] : here.gradients)
    for (int64_t e = 0; e < gradient.numel(); ++e)
      EXPECT_EQ(gradient.values<double>()[e], there.gradients.at(name).values<double>()[e]) << name;
}

TEST(Masked, MoreQueriesThanKeysLeaveTheFirstRowsEmpty) {
  Encoding encoding = encodingNamed("nope");
  TensorMap inputs = randomInputs(encoding, {1, 1, 1, 5, 3, 4, 4}, 17);
  auto results = evaluated(encoding.program, inputs);
  auto o = results.outputs["o"].values<double>();
  for (int64_t e = 0; e < 2 * 4; ++e)
    EXPECT_EQ(o[e], 0.0) << "queries at positions -2 and -1";
  EXPECT_EQ(o[2 * 4], inputs["v"].values<double>()[0]) << "query 0 sees only key 0";
}

TEST(Masked, EmptyBatchQueriesAndKeys) {
  Encoding encoding = encodingNamed("fire", 4);
  for (CallShape shape : {CallShape{0, 2, 2, 3, 3, 4, 4}, CallShape{1, 2, 2, 0, 3, 4, 4},
                          CallShape{1, 2, 2, 3, 0, 4, 4}}) {
    auto results = evaluated(encoding.program, randomInputs(encoding, shape, 17), true);
    for (double x : results.outputs["o"].values<double>())
      EXPECT_EQ(x, 0.0);
    EXPECT_EQ(results.gradients["d_w1"].values<double>()[0], 0.0);
  }
}

TEST(Masked, WindowsAndTheirCombinations) {
  ProgramBuilder f;
  int window = f.mask("pe.sliding_window", {}, {{"left", 3}, {"right", 2}});
  int both = f.mask("pe.mask_and", {window, f.mask("pe.causal")});
  int either = f.mask("pe.mask_or", {both, f.mask("pe.strict_causal")});
  reference::Program program = f.finish();
  auto definitions = reference::findDefinitions(program);
  reference::GraphBuilder builder(program, definitions, {}, {});
  auto allowed = [&](int mask, int64_t i) {
    auto built = reference::buildMask(program, definitions, builder, mask);
    std::string keys;
    for (int64_t j = 0; j < 8; ++j)
      keys += built->allows(i, j, nullptr) ? '1' : '0';
    return keys;
  };
  EXPECT_EQ(allowed(window, 4), "00111100");
  EXPECT_EQ(allowed(both, 4), "00111000");
  EXPECT_EQ(allowed(either, 4), "11111000");
}

// A mask whose code is true for every key has no effect; one that is always false gives zero rows.
TEST(Masked, CodeDecidesPerPair) {
  for (bool isInverted : {false, true}) {
    ProgramBuilder f;
    int mask = f.maskFunction({}, [&](const std::vector<int> &at) {
      return f.scalar("arith.cmpi", {at[2], at[3]}, "i1", {{"predicate", isInverted ? 2 : 5}});
    });
    f.attention({}, {}, mask);
    Encoding encoding{"masked", f.finish(), {}};
    TensorMap inputs = randomInputs(encoding, {1, 1, 1, 4, 4, 4, 4}, 17);
    auto results = evaluated(encoding.program, inputs);
    auto o = results.outputs["o"].values<double>(), v = inputs["v"].values<double>();
    // i >= j: the first query sees only the first key. i < j: the third sees only the last key.
    const int64_t row = isInverted ? 2 : 0, key = isInverted ? 3 : 0;
    for (int64_t e = 0; e < 4; ++e)
      EXPECT_NEAR(o[row * 4 + e], v[key * 4 + e], 1e-12);
  }
}

} // namespace
} // namespace pe::test
