//===- ClosedFormTest.cpp - The reference against closed forms ------------===//

#include "dialect/PE/RopeLiterals.h"
#include "reference/Helpers.h"
#include "runtime/reference/Rotations.h"
#include "runtime/reference/ScalarGraph.h"

#include <cmath>

namespace pe::test {
namespace {

/// Inputs whose scores are all zero: q = 0.
TensorMap inputsWithoutScores(const Encoding &encoding, const CallShape &shape) {
  TensorMap inputs = randomInputs(encoding, shape, 1);
  inputs["q"] = Tensor::zeros(DType::F64, inputs["q"].shape());
  return inputs;
}

TEST(ClosedForm, NopeWithUniformScoresIsTheMeanOfTheValues) {
  Encoding encoding = encodingNamed("log_sum_exp");
  TensorMap inputs = inputsWithoutScores(encoding, {1, 1, 1, 4, 4, 2, 1});
  inputs["v"] = doubles({1, 2, 3, 6}, {1, 1, 4, 1});
  auto results = evaluated(encoding.program, inputs);
  expectNear(results.outputs["o"], doubles({1, 1.5, 2, 3}, {1, 1, 4, 1}), 1e-15);
  expectNear(results.outputs["lse"], doubles({0, std::log(2), std::log(3), std::log(4)}, {1, 1, 4}),
             1e-15);
}

TEST(ClosedForm, AlibiOfTwoPositions) {
  Encoding encoding = encodingNamed("alibi");
  TensorMap inputs = inputsWithoutScores(encoding, {1, 2, 2, 2, 2, 2, 1});
  inputs["v"] = doubles({1, 0, 1, 0}, {1, 2, 2, 1});
  auto results = evaluated(encoding.program, inputs);
  // Head 0 of 2 has slope 2^-4, head 1 has 2^-8; the older key is one position away.
  double first = 1 / (1 + std::exp(1.0 / 16)), second = 1 / (1 + std::exp(1.0 / 256));
  expectNear(results.outputs["o"], doubles({1, first, 1, second}, {1, 2, 2, 1}), 1e-15);
}

TEST(ClosedForm, InterleavedSlopesOfThreeHeads) {
  Encoding encoding = encodingNamed("alibi_interleaved");
  TensorMap inputs = randomInputs(encoding, {1, 3, 3, 2, 2, 4, 4}, 1);
  // The slopes of two heads, then the first of four heads.
  EXPECT_DOUBLE_EQ(biasAt(encoding.program, inputs, {0, 0, 1, 0}), -std::exp2(-4));
  EXPECT_DOUBLE_EQ(biasAt(encoding.program, inputs, {0, 1, 1, 0}), -std::exp2(-8));
  EXPECT_DOUBLE_EQ(biasAt(encoding.program, inputs, {0, 2, 1, 0}), -std::exp2(-2));
}

TEST(ClosedForm, CausalBucketBoundariesMatchThePaper) {
  const int64_t starts[] = {16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
  reference::BucketSpec spec{32, 128, false};
  for (int d = 0; d < 16; ++d)
    EXPECT_EQ(reference::bucketOf(spec, d), d);
  for (int n = 0; n < 16; ++n) {
    EXPECT_EQ(reference::bucketOf(spec, starts[n]), 16 + n) << starts[n];
    EXPECT_EQ(reference::bucketOf(spec, starts[n] - 1), 15 + n) << starts[n] - 1;
  }
  EXPECT_EQ(reference::bucketOf(spec, 100000), 31);
  EXPECT_EQ(reference::bucketOf(spec, -3), 0) << "keys after the query are at distance 0";
}

TEST(ClosedForm, BidirectionalBucketsUseOneHalfPerSide) {
  // 16, 32 and 64 are exact boundaries, where the result depends on single precision.
  const int64_t starts[] = {8, 12, 16, 23, 32, 46, 64, 91};
  reference::BucketSpec spec{32, 128, true};
  for (int n = 0; n < 8; ++n) {
    EXPECT_EQ(reference::bucketOf(spec, starts[n]), 8 + n) << starts[n];
    EXPECT_EQ(reference::bucketOf(spec, starts[n] - 1), 7 + n) << starts[n] - 1;
    EXPECT_EQ(reference::bucketOf(spec, -starts[n]), 24 + n) << -starts[n];
  }
}

TEST(ClosedForm, TableIsReadAtTheBucketOfItsHead) {
  Encoding encoding = encodingNamed("t5");
  TensorMap inputs = randomInputs(encoding, {1, 2, 2, 30, 30, 4, 4}, 1);
  const Tensor &table = inputs["table"];
  EXPECT_EQ(biasAt(encoding.program, inputs, {0, 1, 25, 5}),
            table.data<double>()[table.offsetOf({17, 1})]);
}

TEST(ClosedForm, RotationKeepsNormsAndDependsOnlyOnDifferences) {
  for (const char *name : {"rope", "rope_interleaved"}) {
    Encoding encoding = encodingNamed(name);
    auto definitions = reference::findDefinitions(encoding.program);
    reference::ValueId value = encoding.program.operations[0].results[0];
    auto rotation = reference::buildRotation(encoding.program, definitions, value, 4);
    ASSERT_TRUE(rotation) << rotation.error().getMessage();
    auto score = [&](int64_t i, int64_t j) {
      double q[] = {1.0, -2.0, 0.5, 3.0}, k[] = {-1.0, 0.25, 2.0, 1.0};
      rotation->apply(q, {0, 0, i});
      rotation->apply(k, {0, 0, j});
      EXPECT_NEAR(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], 14.25, 1e-13);
      return q[0] * k[0] + q[1] * k[1] + q[2] * k[2] + q[3] * k[3];
    };
    EXPECT_NEAR(score(7, 3), score(1007, 1003), 1e-11);
    EXPECT_GT(std::fabs(score(7, 3) - score(3, 7)), 0.1) << "the sign of i - j matters";
  }
}

TEST(ClosedForm, RotationPairsAndAngles) {
  Encoding half = encodingNamed("rope"), pairs = encodingNamed("rope_interleaved");
  auto rotate = [](const Encoding &encoding, std::vector<double> row) {
    auto rotation =
        reference::buildRotation(encoding.program, reference::findDefinitions(encoding.program),
                                 encoding.program.operations[0].results[0], 4);
    rotation->apply(row.data(), {0, 0, 3});
    return row;
  };
  // Pair 0 is rotated by 3 radians, pair 1 by 3 / 100 radians.
  std::vector<double> a = rotate(half, {1, 1, 0, 0}), b = rotate(pairs, {1, 0, 1, 0});
  EXPECT_DOUBLE_EQ(a[0], std::cos(3.0));
  EXPECT_DOUBLE_EQ(a[2], std::sin(3.0));
  EXPECT_NEAR(a[1], std::cos(0.03), 1e-15);
  EXPECT_NEAR(a[3], std::sin(0.03), 1e-15);
  EXPECT_EQ(b, (std::vector<double>{a[0], a[2], a[1], a[3]}));
}

TEST(ClosedForm, FormulaFrequenciesMatchRotary) {
  // base[h] ^ (-p / n) for two heads, and the factor on cosine and sine.
  ProgramBuilder f;
  int base = f.parameter("base", {ProgramBuilder::heads});
  auto frequency = [&](const std::vector<int> &a) {
    auto real = [&](int index) {
      return f.scalar("arith.sitofp", {f.scalar("arith.index_cast", {index}, "i64")}, "f64");
    };
    int minus = f.scalar("arith.negf", {real(a[1])}, "f64");
    int share = f.scalar("arith.divf", {minus, real(a[2])}, "f64");
    return f.scalar("math.powf", {f.scalar("pe.read", {a[3], a[0]}), share}, "f64");
  };
  int rotation = f.region("pe.rotation_fn", "!pe.rotation", 3, {base}, frequency);
  f.attention({}, {rotation}, f.noMask);
  reference::Program program = f.finish();
  plan::CallSizes sizes;
  sizes.queryHeads = sizes.keyHeads = 2;
  reference::TensorValues tensors;
  tensors[base] = {{2}, {100.0, 10000.0}};
  auto found = reference::buildRotation(program, reference::findDefinitions(program), rotation, 8,
                                        tensors, sizes);
  ASSERT_TRUE(found) << found.error().getMessage();
  ASSERT_EQ(found->frequencies.size(), 8u);
  EXPECT_NEAR(found->frequencies[1], std::pow(100.0, -0.25), 1e-15);
  EXPECT_NEAR(found->frequencies[4 + 3], std::pow(10000.0, -0.75), 1e-15);
  ASSERT_EQ(found->learned.size(), 2u);
  EXPECT_EQ(found->learned[1].front().element, 1);
  // d base^x / d base = x base^(x - 1), which is 0 for the first pair.
  ASSERT_EQ(found->learned[0].front().slopes.size(), 3u);
  EXPECT_NEAR(found->learned[0].front().slopes[0].value, -0.25 * std::pow(100.0, -1.25), 1e-15);

  // A tensor with an element for each of three heads does not fit two heads.
  tensors[base] = {{3}, {100.0, 10000.0, 10.0}};
  EXPECT_FALSE(reference::buildRotation(program, reference::findDefinitions(program), rotation, 8,
                                        tensors, sizes));
  // The keys of one head would need the rotations of two heads.
  tensors[base] = {{2}, {100.0, 10000.0}};
  sizes.keyHeads = 1;
  EXPECT_FALSE(reference::buildRotation(program, reference::findDefinitions(program), rotation, 8,
                                        tensors, sizes));
}

TEST(ClosedForm, ScaledFrequenciesMatchPublishedValues) {
  for (const RopeLiteral &literal : kRopeLiterals) {
    ProgramBuilder f;
    const std::string scaling = "#pe.rope_scaling<" + std::string(literal.scaling) + ">";
    f.attention({}, {f.rotation("pe.rotary", {{"base", literal.base}, {"scaling", scaling}})},
                f.noMask);
    reference::Program program = f.finish();
    plan::CallSizes sizes;
    sizes.keys = literal.length;
    auto rotation =
        reference::buildRotation(program, reference::findDefinitions(program),
                                 program.operations[0].results[0], literal.dims, {}, sizes);
    ASSERT_TRUE(rotation) << rotation.error().getMessage();
    for (size_t n = 0; n < literal.pairs.size(); ++n)
      EXPECT_FLOAT_EQ(static_cast<float>(rotation->frequencies[literal.pairs[n]]),
                      static_cast<float>(literal.frequencies[n]))
          << literal.scaling << ", pair " << literal.pairs[n];
    const std::string_view kind = literal.scaling;
    EXPECT_FLOAT_EQ(rotation->magnitude, kind.starts_with("yarn")       ? kYarnMagnitude
                                         : kind.starts_with("longrope") ? kLongRopeMagnitude
                                                                        : 1.0);
  }
}

TEST(ClosedForm, ProgressiveInterpolationClosedForm) {
  // With one hidden unit of weight 1 and an output weight of 1, the bias is t.
  Encoding encoding = encodingNamed("fire_short", 1);
  TensorMap inputs = randomInputs(encoding, {1, 1, 1, 9, 9, 2, 2}, 1);
  inputs["c"] = Tensor::scalar(0.5);
  inputs["L_multiplier"] = Tensor::scalar(-1.5); // L = |-1.5 * 3| = 4.5
  inputs["w1"] = doubles({1}, {1});
  inputs["b1"] = doubles({0}, {1});
  inputs["w2"] = doubles({1}, {1, 1});
  inputs["b2"] = doubles({0}, {1});
  double below = std::log(0.5 * 2 + 1) / (std::log(0.5 * 4.5 + 1) + 1e-6);
  double above = std::log(0.5 * 3 + 1) / (std::log(0.5 * 8 + 1) + 1e-6);
  EXPECT_DOUBLE_EQ(biasAt(encoding.program, inputs, {0, 0, 3, 1}), below);
  EXPECT_DOUBLE_EQ(biasAt(encoding.program, inputs, {0, 0, 8, 5}), above);
  EXPECT_DOUBLE_EQ(biasAt(encoding.program, inputs, {0, 0, 4, 4}), 0.0);
}

TEST(ClosedForm, WithoutThresholdTheFirstRowIsZero) {
  Encoding encoding = encodingNamed("fire_no_log", 1);
  TensorMap inputs = randomInputs(encoding, {1, 1, 1, 4, 4, 2, 2}, 1);
  inputs["w1"] = doubles({1}, {1});
  inputs["b1"] = doubles({0}, {1});
  inputs["w2"] = doubles({2}, {1, 1});
  inputs["b2"] = doubles({0.25}, {1});
  EXPECT_DOUBLE_EQ(biasAt(encoding.program, inputs, {0, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(biasAt(encoding.program, inputs, {0, 0, 3, 1}), 2 * (2 / (3 + 1e-6)) + 0.25);
}

TEST(ClosedForm, StickBreakingOfZeroScoresHalvesTheRemainder) {
  Encoding encoding = encodingNamed("log_of_mass_left");
  TensorMap inputs = inputsWithoutScores(encoding, {1, 1, 1, 4, 4, 2, 1});
  inputs["v"] = doubles({1, 10, 100, 1000}, {1, 1, 4, 1});
  auto results = evaluated(encoding.program, inputs);
  // Row 0 attends to nothing; row 3 gives 1/2 to key 2, 1/4 to key 1, 1/8 to key 0.
  expectNear(results.outputs["o"], doubles({0, 0.5, 5.25, 52.625}, {1, 1, 4, 1}), 1e-13);
  expectNear(results.outputs["r"],
             doubles({0, -std::log(2), -2 * std::log(2), -3 * std::log(2)}, {1, 1, 4}), 1e-14);
}

TEST(ClosedForm, StickBreakingMassAndRemainderSumToOne) {
  Encoding encoding = encodingNamed("log_of_mass_left");
  CallShape shape{2, 3, 3, 12, 12, 4, 1};
  TensorMap inputs = randomInputs(encoding, shape, 3, DType::F64, 3.0);
  inputs["v"] = doubles(std::vector<double>(2 * 3 * 12, 1.0), {2, 3, 12, 1});
  auto results = evaluated(encoding.program, inputs);
  for (int64_t e = 0; e < results.outputs["r"].numel(); ++e)
    EXPECT_NEAR(results.outputs["o"].values<double>()[e] +
                    std::exp(results.outputs["r"].values<double>()[e]),
                1.0, 1e-14);
}

TEST(ClosedForm, KerpleAtDistanceZeroIsZeroWithoutGradient) {
  for (const char *name : {"kerple_log", "kerple_power"}) {
    Encoding encoding = encodingNamed(name);
    TensorMap inputs = randomInputs(encoding, {1, 2, 2, 1, 1, 4, 4}, 1);
    EXPECT_EQ(biasAt(encoding.program, inputs, {0, 0, 0, 0}), 0.0);
    auto results = evaluated(encoding.program, inputs, true);
    expectNear(results.gradients["d_r2"], doubles({0, 0}, {2}), 0.0, name);
    expectNear(results.magnitudes["d_r2"], doubles({0, 0}, {2}), 0.0, name);
  }
}

TEST(ClosedForm, SandwichClosedForm) {
  Encoding encoding = encodingNamed("sandwich");
  TensorMap inputs = randomInputs(encoding, {1, 1, 1, 4, 4, 4, 4}, 1);
  inputs["r1"] = doubles({0.5}, {1});
  double sum = 0;
  for (int k = 1; k <= 64; ++k)
    sum += 0.5 * std::cos(3 * std::pow(10000.0, -k / 64.0));
  EXPECT_NEAR(biasAt(encoding.program, inputs, {0, 0, 3, 0}), sum, 1e-13);
  EXPECT_NEAR(biasAt(encoding.program, inputs, {0, 0, 1, 1}), 32.0, 1e-13);
}

TEST(ClosedForm, ClampedLogarithmIsConstantBeyondItsThreshold) {
  Encoding encoding = encodingNamed("fire_clamped", 4);
  TensorMap inputs = randomInputs(encoding, {1, 1, 1, 20, 20, 4, 4}, 1);
  inputs["log_threshold"] = doubles({std::log(7.0)}, {1});
  double at8 = biasAt(encoding.program, inputs, {0, 0, 19, 11});
  EXPECT_EQ(at8, biasAt(encoding.program, inputs, {0, 0, 19, 0}));
  EXPECT_NE(at8, biasAt(encoding.program, inputs, {0, 0, 19, 13}));
}

TEST(ClosedForm, QueryHeadsShareTheirKeyHead) {
  Encoding encoding = encodingNamed("nope");
  CallShape grouped{1, 4, 2, 5, 5, 4, 4};
  TensorMap inputs = randomInputs(encoding, grouped, 1);
  auto shared = evaluated(encoding.program, inputs, true);
  TensorMap repeated = inputs;
  for (const char *name : {"k", "v"}) {
    Tensor wide = Tensor::zeros(DType::F64, {1, 4, 5, 4});
    for (int64_t h = 0; h < 4; ++h)
      wide.select(1, h).copyFrom(inputs[name].select(1, h / 2));
    repeated[name] = wide;
  }
  auto separate = evaluated(encoding.program, repeated, true);
  expectNear(shared.outputs["o"], separate.outputs["o"], 0.0);
  for (int64_t e = 0; e < 5 * 4; ++e) {
    auto of = [&](int64_t head) {
      return separate.gradients["d_k"].values<double>()[head * 20 + e];
    };
    EXPECT_DOUBLE_EQ(shared.gradients["d_k"].values<double>()[20 + e], of(2) + of(3));
  }
}

} // namespace
} // namespace pe::test
