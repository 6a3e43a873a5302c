//===- SessionDataTest.cpp - Runs on tasks ---------------------------------===//
#include "Sessions.h"

using namespace pe;
using namespace pe::test;
using namespace pe::train;

namespace {

TEST_F(SessionTest, ResumedTaskEqualsUninterruptedRun) {
  TrainConfig config = smallConfig();
  config.phases = {{"task:flip-flop?p=0.5", 4}, {"task:addition", 4}};
  config.reinit.enabled = true;
  EXPECT_EQ(config.tokenCount(), 13);
  expectResumedRunEqualsUninterruptedRun(config, {4});
}

TEST_F(SessionTest, AccuracyIsTheShareOfLargestLogits) {
  TrainConfig config = smallConfig();
  config.phases = {{"task:dyck", 60}};
  config.learningRate = 0.02;
  config.evaluation.lengths = {8, 16, 31};
  auto session = makeSession(config);
  struct Keeper : Observer {
    std::map<int64_t, double> accuracy;
    void onAccuracy(const std::map<int64_t, double> &byLength) override { accuracy = byLength; }
  } keeper;
  auto bits = session->run({&keeper});
  ASSERT_TRUE(bits);
  ASSERT_EQ(keeper.accuracy.size(), 3u);
  EXPECT_GT(keeper.accuracy[8], 0.45); // of two kinds
  Decoder &model = session->trainer().model();
  for (int64_t length : config.evaluation.lengths) {
    // The same exercises again.
    Batch batch;
    batch.resize(config.evaluation.windows, length);
    for (int64_t row = 0; row < batch.sequences; ++row) {
      Random random(0, "exercise." + std::to_string(row));
      batch.set(row, *session->corpus().heldOut.task, random, length / 2);
    }
    model.recordHits(true);
    ASSERT_TRUE(model.forward(batch, 0, inOrder));
    double right = 0, sum = 0;
    for (size_t i = 0; i < batch.weights.size(); ++i) {
      const double loss = model.losses()[i];
      sum += loss;
      right += model.hits()[i];
      if (batch.weights[i] == 0) {
        EXPECT_FALSE(model.hits()[i]);
      } else if (loss < std::log(2.0) - 1e-3) {
        EXPECT_TRUE(model.hits()[i]); // more than half is the most
      } else if (loss > std::log(4.0) + 1e-3) {
        EXPECT_FALSE(model.hits()[i]); // less than a quarter of four is not
      }
    }
    EXPECT_DOUBLE_EQ(keeper.accuracy[length], right / batch.totalWeight());
    EXPECT_NEAR(bits->at(length), sum / batch.totalWeight() / std::log(2.0), 1e-9);
  }
}

TEST_F(SessionTest, TasksAreCausalAndLongEnough) {
  TrainConfig config = smallConfig();
  config.phases = {{"task:copy", 2}};
  config.evaluation.lengths = {1};
  auto bits = makeSession(config)->run({});
  ASSERT_FALSE(bits);
  EXPECT_EQ(bits.error().getMessage(),
            "expected --eval-lengths of at least 2 for task:copy?symbols=16, found 1");
  config.objective = Objective::Masked;
  auto masked = makeSession(config)->run({});
  ASSERT_FALSE(masked);
  EXPECT_EQ(masked.error().getMessage(),
            "expected --objective=causal with task:copy?symbols=16, found masked");
}

TEST(Options, AcceptTasksAndTokens) {
  EXPECT_EQ(optionsError({{"data", "task:flipflop"}}),
            "--data: expected a task of 'flip-flop', 'copy', 'addition' or 'dyck', found "
            "'flipflop'; did you mean 'flip-flop'?");
  auto options = readTrainOptions({{"data", "tokens.bin"}, {"vocab", "50257"}});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->config.tokenCount(), 50257);
}

} // namespace
