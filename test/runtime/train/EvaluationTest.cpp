//===- EvaluationTest.cpp - Scores with growing context, and learning rates ---===//

#include "NaiveDecoder.h"
#include "Trainers.h"
#include "runtime/train/trainer/EvaluateLengths.h"
#include "runtime/train/trainer/RateSchedule.h"

#include <cmath>
#include <numbers>

using namespace pe;
using namespace pe::test;
using namespace pe::train;

namespace {

/// Returns 200 random tokens of 16 kinds.
Text randomText() {
  Text text;
  text.starts = {0};
  Random random(3, "text");
  for (int i = 0; i < 200; ++i)
    text.tokens.push_back(static_cast<int32_t>(random.below(16)));
  return text;
}

TEST(Evaluation, ScoresTheSameCharactersWithMoreContext) {
  auto model = makeModel(kSmall);
  NaiveDecoder naive(*model);
  const Text text = randomText();
  Evaluation evaluation{.lengths = {8, 24}, .windows = 3, .scored = 4};
  auto bits = evaluate(*model, text, {}, evaluation, inOrder);
  ASSERT_TRUE(bits) << bits.error().getMessage();
  auto starts = evaluationWindows(text, 3, 24);
  for (int64_t length : evaluation.lengths) {
    double sum = 0;
    for (int64_t start : *starts) {
      Batch batch;
      batch.resize(1, length);
      batch.set(0, text, start + 24 - length);
      EXPECT_EQ(batch.targets.back(), text.tokens[start + 24]);
      std::vector<double> losses = naive.losses(batch);
      for (int64_t i = length - 4; i < length; ++i)
        sum += losses[i];
    }
    EXPECT_NEAR((*bits)[length], sum / 12 / std::numbers::ln2, 1e-4);
  }
}

// The masked tokens do not depend on the context, and every scored token is scored at most once.
TEST(Evaluation, ScoresMaskedTokens) {
  DecoderConfig config = kSmall;
  config.vocabulary = 17;
  auto model = makeModel(config);
  NaiveDecoder naive(*model);
  const Text text = randomText();
  const BatchRules rules{.objective = Objective::Masked, .maskToken = 16};
  Evaluation evaluation{.lengths = {8, 24}, .windows = 3, .scored = 6};
  auto bits = evaluate(*model, text, rules, evaluation, inOrder);
  ASSERT_TRUE(bits) << bits.error().getMessage();
  auto starts = evaluationWindows(text, 3, 24);
  std::map<int64_t, std::vector<int32_t>> scored;
  for (int64_t length : evaluation.lengths) {
    double sum = 0, weight = 0;
    for (int64_t start : *starts) {
      Batch batch;
      batch.resize(1, length);
      batch.set(0, text, start + 24 - length);
      Random mask(0, "evaluation." + std::to_string(start));
      batch.mask(0, length - 6, rules, mask);
      std::vector<double> losses = naive.losses(batch);
      for (int64_t i = 0; i < length; ++i) {
        sum += losses[i];
        weight += batch.weights[i];
        if (i >= length - 6)
          scored[length].push_back(batch.inputs[i]);
        else
          EXPECT_EQ(batch.weights[i], 0);
      }
    }
    EXPECT_NEAR((*bits)[length], sum / weight / std::numbers::ln2, 1e-4);
  }
  EXPECT_EQ(scored[8], scored[24]);
}

TEST(Schedule, WarmsUpAndDecays) {
  Schedule linear{.decay = Decay::Linear, .peak = 2, .warmup = 4, .steps = 100};
  EXPECT_DOUBLE_EQ(linear.at(0), 0.5);
  EXPECT_DOUBLE_EQ(linear.at(3), 2);
  EXPECT_DOUBLE_EQ(linear.at(49), 2);
  EXPECT_NEAR(linear.at(74), 1.1, 1e-12);
  EXPECT_NEAR(linear.at(99), 0.2, 1e-12);
  Schedule cosine{.decay = Decay::Cosine, .peak = 2, .warmup = 4, .steps = 100};
  EXPECT_NEAR(cosine.at(49), 1.1, 1e-12);
  EXPECT_NEAR(cosine.at(99), 0.2, 1e-12);
  Schedule constant{.decay = Decay::Constant, .peak = 2, .warmup = 0, .steps = 100};
  EXPECT_DOUBLE_EQ(constant.at(0), 2);
  EXPECT_DOUBLE_EQ(constant.at(99), 2);
  Schedule wsd{.decay = Decay::Wsd, .peak = 2, .warmup = 4, .steps = 100, .finalFraction = 0};
  EXPECT_DOUBLE_EQ(wsd.at(1), 1);
  EXPECT_DOUBLE_EQ(wsd.at(79), 2);
  EXPECT_NEAR(wsd.at(84), 1, 1e-12);
  EXPECT_NEAR(wsd.at(99), 0, 1e-12);
  EXPECT_FALSE(parseDecay("exponential"));
}

} // namespace
