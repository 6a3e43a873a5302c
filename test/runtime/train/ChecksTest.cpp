//===- ChecksTest.cpp - Guards, checks and traces of runs -----------------===//

#include "runtime/train/session/Checks.h"
#include "Sessions.h"
#include "runtime/core/File.h"
#include "runtime/train/session/Trace.h"

#include <nlohmann/json.hpp>

using namespace pe;
using namespace pe::test;
using namespace pe::train;

namespace {

using ChecksTest = SessionTest;

/// A configuration with every kind of parameter, and dropout.
TrainConfig manyParts() {
  TrainConfig config = SessionTest::smallConfig();
  config.model.layers = 2;
  config.model.dropout = 0.2;
  config.model.tieHead = true;
  config.model.shareEncoding = true;
  return config;
}

TEST_F(ChecksTest, GradientsMatchSlopesOfTheLoss) {
  auto session = makeSession(manyParts());
  const ParameterBlock &values = session->trainer().model().values();
  const std::vector<float> before(values.data(), values.data() + values.size());
  auto checks = checkGradients(*session);
  ASSERT_TRUE(checks) << checks.error().getMessage();
  EXPECT_EQ(static_cast<int64_t>(checks->size()), session->trainer().model().layout().size());
  for (const GradientCheck &check : *checks) {
    EXPECT_TRUE(check.isGood()) << check.name << " " << check.derived << " " << check.measured;
    // All gradients except the smallest exceed the rounding error.
    if (!check.name.ends_with(".lift"))
      EXPECT_LT(check.bound, std::abs(check.derived)) << check.name;
  }
  EXPECT_EQ(std::vector<float>(values.data(), values.data() + values.size()), before);
  EXPECT_TRUE(printGradientChecks(*checks, stdout));
}

/// Attention that returns a gradient of the values that is 10% too large.
struct WrongAttention : NaiveAttention {
  using NaiveAttention::NaiveAttention;
  Status backward(const AttentionInputs &in, const HeadRows<const float> &dO,
                  const AttentionGradients &g) override {
    Status status = NaiveAttention::backward(in, dO, g);
    for (int64_t token = 0; token < in.batch * in.length; ++token)
      for (int64_t d = 0; d < in.keyHeads * in.headDim; ++d)
        *g.dV.at(token, d) *= 1.1f;
    return status;
  }
};

TEST_F(ChecksTest, DetectsAWrongGradient) {
  TrainConfig config = smallConfig();
  const Environment environment{compiledKernels(),
                                [&] {
                                  return Expected<std::unique_ptr<AttentionFunction>>(
                                      std::make_unique<WrongAttention>(config.model.heads));
                                },
                                inOrder};
  auto session = Session::create(config, environment, {text("some text\n", config.vocabulary)});
  ASSERT_TRUE(session);
  auto checks = checkGradients(**session);
  ASSERT_TRUE(checks);
  for (const GradientCheck &check : *checks)
    if (check.name == "layer0.attention.wv" || check.name == "head")
      EXPECT_EQ(check.isGood(), check.name == "head") << check.name;
  Status status = printGradientChecks(*checks, stdout);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().getMessage().find("found different ones for "), std::string::npos);
}

TEST_F(ChecksTest, MemorizesOneBatch) {
  TrainConfig config = smallConfig();
  config.phases = {{"", 200}};
  config.learningRate = 0.01;
  auto check = overfitOneBatch(*makeSession(config));
  ASSERT_TRUE(check) << check.error().getMessage();
  EXPECT_TRUE(check->isGood()) << check->lastLoss;
  EXPECT_NEAR(check->firstLoss, std::log(96.0), 0.1);
  EXPECT_LT(check->steps, 200);
  config.learningRate = 0;
  config.phases = {{"", 3}};
  auto stuck = overfitOneBatch(*makeSession(config));
  ASSERT_TRUE(stuck);
  EXPECT_EQ(stuck->steps, 3);
  Status status = printOverfitCheck(*stuck, stdout);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().getMessage().find("to fall to a tenth in 3 steps"), std::string::npos);
}

TEST_F(ChecksTest, RunEndsAfterTooManyNonFiniteSteps) {
  TrainConfig config = smallConfig();
  config.maxSkips = 3;
  auto session = makeSession(config);
  session->trainer().model().values().data()[0] = std::nanf("");
  std::fill_n(session->trainer().model().values().data(),
              session->trainer().model().values().size(), std::nanf(""));
  Recorder recorder;
  auto bits = session->run({&recorder});
  ASSERT_FALSE(bits);
  EXPECT_NE(
      bits.error().getMessage().find("found none in 3 consecutive steps (--max-skips; the last "
                                     "is step 2, loss nan"),
      std::string::npos)
      << bits.error().getMessage();
  EXPECT_EQ(session->trainer().skipped(), 3);
  EXPECT_EQ(recorder.losses.size(), 2u);
}

TEST_F(ChecksTest, RecomputationIsBitwiseEqual) {
  for (double share : {0.0, 0.25}) {
    TrainConfig config = manyParts();
    config.model.layers = 3;
    config.model.dropout = share;
    Recorder plain, again;
    auto one = makeSession(config);
    ASSERT_TRUE(one->run({&plain}));
    config.model.recompute = true;
    auto two = makeSession(config);
    ASSERT_TRUE(two->run({&again}));
    EXPECT_EQ(plain.losses, again.losses);
    const ParameterBlock &a = one->trainer().model().values(), &b = two->trainer().model().values();
    EXPECT_EQ(std::vector<float>(a.data(), a.data() + a.size()),
              std::vector<float>(b.data(), b.data() + b.size()));
  }
}

TEST_F(ChecksTest, DropsTheGivenShareOnlyInTraining) {
  constexpr int64_t kRows = 300, kDim = 24;
  std::vector<float> ones(kRows * kDim, 1.0f), part(kDim, 1.0f), other = ones;
  const Dropout dropout(0.25, 7, 3);
  dropout.apply(ones.data(), 0, kRows, kDim);
  const auto kept = std::count(ones.begin(), ones.end(), static_cast<float>(1 / 0.75));
  EXPECT_EQ(kept + std::count(ones.begin(), ones.end(), 0.0f), kRows * kDim);
  EXPECT_NEAR(static_cast<double>(kept) / (kRows * kDim), 0.75, 0.02);
  // The draws depend on the row, not the piece, and differ at another place.
  dropout.apply(part.data(), 17, 1, kDim);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), ones.begin() + 17 * kDim));
  dropout.at(4).apply(other.data(), 0, kRows, kDim);
  EXPECT_NE(ones, other);

  TrainConfig config = smallConfig();
  auto without = makeSession(config);
  config.model.dropout = 0.5;
  auto with = makeSession(config);
  auto lossOf = [](Session &session, bool training) {
    auto batch = session.firstBatch();
    batch->training = training;
    EXPECT_TRUE(session.trainer().model().forward(*batch, 1, inOrder));
    return session.trainer().model().losses()[5];
  };
  EXPECT_EQ(lossOf(*with, false), lossOf(*without, false));
  EXPECT_NE(lossOf(*with, true), lossOf(*without, true));
}

TEST_F(ChecksTest, TraceHasThePartsOfEveryStep) {
  auto session = makeSession(smallConfig());
  Stopwatch watch;
  session->trainer().setWatch(&watch);
  ASSERT_TRUE(session->run({}));
  startPart(&watch, nullptr);
  ASSERT_TRUE(writeTrace(path("trace.json"), watch));
  const auto trace = nlohmann::json::parse(*readFile(path("trace.json")));
  double end = 0;
  std::map<std::string, int> counts;
  for (const auto &span : trace["traceEvents"]) {
    EXPECT_GE(span["ts"].get<double>(), end - 1e-3);
    end = span["ts"].get<double>() + span["dur"].get<double>();
    ++counts[span["name"]];
  }
  EXPECT_EQ(counts["optimizer"], 6);
  EXPECT_EQ(counts["attention backward"], 6);
  for (const char *part : {"text", "embedding", "layers forward", "head backward", "norms"})
    EXPECT_GT(trace["seconds"][part].get<double>(), 0) << part;
  EXPECT_EQ(timeLine(watch).substr(0, 14), "time by part: ");
}

TEST(CheckOptions, AreRead) {
  auto options = readTrainOptions({{"check", "gradients"},
                                   {"max-skips", "4"},
                                   {"trace", "t.json"},
                                   {"dropout", "0.1"},
                                   {"recompute", "on"}});
  ASSERT_TRUE(options) << options.error().getMessage();
  EXPECT_EQ(options->config.check, TrainConfig::Check::Gradients);
  EXPECT_EQ(options->config.maxSkips, 4);
  EXPECT_EQ(options->config.trace, "t.json");
  EXPECT_EQ(options->config.model.dropout, 0.1);
  EXPECT_TRUE(options->config.model.recompute);
  EXPECT_EQ(options->identity.count("pe.train.recompute"), 0u);
  EXPECT_EQ(options->identity.at("pe.train.dropout"), "0.1");
  EXPECT_EQ(optionsError({{"check", "all"}}),
            "--check: expected 'gradients' or 'overfit', found 'all'");
  EXPECT_EQ(optionsError({{"dropout", "1"}}),
            "--dropout: expected a number from 0 to below 1, found '1'");
  EXPECT_EQ(optionsError({{"max-skips", "0"}}), "--max-skips: expected at least 1, found 0");
}

} // namespace
