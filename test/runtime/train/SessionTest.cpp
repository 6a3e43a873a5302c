//===- SessionTest.cpp - Entire runs --------------------------------------===//

#include "Sessions.h"
#include "runtime/core/File.h"
#include "runtime/train/session/Observers.h"
#include "runtime/train/session/Plateau.h"
#include "runtime/train/session/Routing.h"
#include "runtime/train/trainer/WarmStart.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

using namespace pe;
using namespace pe::test;
using namespace pe::train;

namespace {

TEST_F(SessionTest, StartsAtTheEntropyOfTheAlphabet) {
  Recorder recorder;
  ASSERT_TRUE(makeSession(smallConfig())->run({&recorder}));
  ASSERT_EQ(recorder.losses.size(), 6u);
  EXPECT_NEAR(recorder.losses[0], std::log(96.0), 0.1);
  EXPECT_LT(recorder.losses[5], recorder.losses[0]);
}

TEST_F(SessionTest, ReinitHappensOnceAtThePhaseBoundary) {
  TrainConfig config = smallConfig();
  config.phases = {{"", 4}, {"other", 4}};
  config.reinit.enabled = true;
  Recorder recorder;
  auto session = makeSession(config);
  ASSERT_TRUE(session->run({&recorder}));
  EXPECT_EQ(recorder.reinits, std::vector<int64_t>{4});
  // Warm-up restarts.
  EXPECT_DOUBLE_EQ(recorder.rates[4], recorder.rates[0]);
  EXPECT_LT(recorder.rates[4], recorder.rates[1]);

  config.reinit.when = ReinitTime::Step;
  config.reinit.step = 2;
  Recorder atStep;
  ASSERT_TRUE(makeSession(config)->run({&atStep}));
  EXPECT_EQ(atStep.reinits, std::vector<int64_t>{2});
}

TEST_F(SessionTest, ResumesBitForBit) {
  TrainConfig config = smallConfig();
  config.phases = {{"", 4}, {"other", 4}};
  config.reinit.enabled = true;
  Recorder whole, begun, rest;
  ASSERT_TRUE(makeSession(config)->run({&whole}));

  // A run that is killed in its second phase, after the checkpoint of step 5.
  struct Stop : Observer {
    std::unique_ptr<Session> *session;
    std::string directory;
    void onStep(const StepReport &report, Trainer &trainer) override {
      if (report.step == 4) {
        EXPECT_TRUE(saveCheckpoint(directory, trainer, {{"pe.train.dim", "16"}}));
      }
    }
  } stop;
  stop.directory = path("checkpoint");
  ASSERT_TRUE(makeSession(config)->run({&begun, &stop}));

  config.checkpoint = path("checkpoint");
  config.resume = true;
  auto resumed = makeSession(config, {{"pe.train.dim", "16"}});
  EXPECT_EQ(resumed->trainer().steps(), 5);
  ASSERT_TRUE(resumed->run({&rest}));
  EXPECT_EQ(rest.losses, std::vector<double>(whole.losses.begin() + 5, whole.losses.end()));
  EXPECT_TRUE(rest.reinits.empty());
}

TEST_F(SessionTest, ResumedRunEqualsUninterruptedRunInsideAPhase) {
  TrainConfig config = smallConfig();
  config.phases = {{"", 3}, {"other", 5}};
  config.phases[1].sequence = 32;
  config.phases[1].learningRate = 1e-3;
  config.phases[1].warmup = 3;
  config.phases[1].decay = Decay::Cosine;
  config.phases[1].redoInterval = 2;
  config.reinit.enabled = true;
  expectResumedRunEqualsUninterruptedRun(config, {3});

  // The program stops at steps that do not end a phase.
  Recorder whole, parts;
  ASSERT_TRUE(makeSession(config)->run({&whole}));
  auto session = makeSession(config);
  for (int64_t until : {2, 2, 4, 7, 8, 9})
    ASSERT_TRUE(session->trainUntil(until, {&parts}));
  EXPECT_EQ(parts.losses, whole.losses);
  EXPECT_EQ(parts.rates, whole.rates);
  EXPECT_EQ(parts.reinits, whole.reinits);
}

TEST_F(SessionTest, AWarmStartBeginsWithTheWeights) {
  TrainConfig first = smallConfig();
  first.checkpoint = path("first");
  auto before = makeSession(first)->run({});
  ASSERT_TRUE(before);
  TrainConfig config = smallConfig();
  config.phases = {{"", 0}};
  config.from = path("first");
  auto now = makeSession(config)->run({}); // without a step
  ASSERT_TRUE(now);
  EXPECT_EQ(*now, *before);

  std::vector<double> losses[2];
  for (bool keeps : {false, true}) {
    config.phases = {{"", 6}};
    config.keepsOptimizer = keeps;
    expectResumedRunEqualsUninterruptedRun(config, {});
    Recorder recorder;
    ASSERT_TRUE(makeSession(config)->run({&recorder}));
    losses[keeps] = recorder.losses;
  }
  EXPECT_EQ(losses[0][0], losses[1][0]); // the same weights
  EXPECT_NE(losses[0], losses[1]);       // but a different optimizer state
  // Weights are compared with their initial values.
  auto session = makeSession(config);
  auto weights = readWeights(path("first"), session->trainer());
  ASSERT_TRUE(weights);
  for (const MatrixMeasures &matrix : measureMatrices(session->trainer(), &*weights))
    EXPECT_EQ(matrix.sfe, 0.0) << matrix.name;
  ASSERT_TRUE(session->trainUntil(1, {}));
  for (const MatrixMeasures &matrix : measureMatrices(session->trainer(), &*weights)) {
    double sum = 0;
    const Parameter &parameter =
        session->trainer().model().layout()[session->trainer().model().layout().find(matrix.name)];
    for (int64_t i = 0; i < parameter.count; ++i)
      sum += std::pow(double(session->trainer().model().values().at(parameter)[i]) -
                          (*weights)[matrix.name].data<float>()[i],
                      2);
    EXPECT_DOUBLE_EQ(*matrix.sfe, sum) << matrix.name;
  }
}

TEST_F(SessionTest, ResumedRunEqualsUninterruptedRunWithMuonAndAccumulation) {
  TrainConfig config = smallConfig();
  config.optimizer.kind = OptimizerKind::Muon;
  config.accumulate = 2;
  config.decay = Decay::Wsd;
  config.phases = {{"", 4}, {"other", 4}};
  config.reinit.enabled = true;
  expectResumedRunEqualsUninterruptedRun(config, {4});
}

TEST_F(SessionTest, ResumedRunEqualsUninterruptedRunWithMasksSharedAndFrozenParameters) {
  TrainConfig config = smallConfig();
  config.objective = Objective::Masked;
  config.vocabulary = Vocabulary(Vocabulary::Unit::Byte);
  config.model.layers = 2;
  config.model.tieHead = true;
  config.model.shareEncoding = true;
  config.model.norm = NormKind::Layer;
  config.model.zeroProjections = true;
  config.model.logitBytes = 1 << 14;
  config.freeze = "lift";
  config.initialValues = {{"slopes", "0.125"}};
  expectResumedRunEqualsUninterruptedRun(config, {});
  auto session = makeSession(config);
  const ParameterLayout &layout = session->trainer().model().layout();
  const ParameterBlock &values = session->trainer().model().values();
  EXPECT_EQ(layout[layout.find("embedding")].shape, (Shape{257, 16}));
  EXPECT_EQ(values.at(layout[layout.find("shared.bias.slopes")])[1], 0.125f);
  EXPECT_EQ(values.at(layout[layout.find("layer1.mlp.w2")])[5], 0.0f);
}

/// Attention that sees all keys: adds the last value to all outputs.
struct LookingAhead : NaiveAttention {
  using NaiveAttention::NaiveAttention;
  Status forward(const AttentionInputs &in, const HeadRows<float> &o) override {
    Status status = NaiveAttention::forward(in, o);
    const int64_t tokens = in.batch * in.length;
    const float last = *in.v.at(tokens - 1, in.keyHeads * in.headDim - 1);
    for (int64_t token = 0; token < tokens; ++token)
      for (int64_t d = 0; d < in.heads * in.headDim; ++d)
        *o.at(token, d) += last;
    return status;
  }
};

TEST_F(SessionTest, TheCausalObjectiveRefusesToLookAhead) {
  TrainConfig config = smallConfig();
  const Environment environment{compiledKernels(),
                                [&] {
                                  return Expected<std::unique_ptr<AttentionFunction>>(
                                      std::make_unique<LookingAhead>(config.model.heads));
                                },
                                inOrder};
  const auto corpus = text("some text\n", config.vocabulary);
  auto causal = Session::create(config, environment, {corpus});
  ASSERT_FALSE(causal);
  EXPECT_NE(causal.error().getMessage().find("use --objective=masked"), std::string::npos);
  config.objective = Objective::Masked;
  EXPECT_TRUE(Session::create(config, environment, {corpus}));
}

TEST_F(SessionTest, ValuesOfUnknownParametersAreRefused) {
  TrainConfig config = smallConfig();
  config.initialValues = {{"slope", "1"}};
  EXPECT_EQ(sessionError(config),
            "--init: expected a parameter of the encoding: 'slopes' or 'lift', found 'slope'");
}

TEST_F(SessionTest, CountsParametersAndOperations) {
  TrainConfig config = smallConfig();
  auto session = makeSession(config);
  // Four matrices of attention, two of the feed-forward layer, and the head; 17 / 2 keys on
  // average.
  const double matrices = 4 * 16 * 16 + 2 * 16 * 32 + 96 * 16;
  EXPECT_DOUBLE_EQ(flopsPerToken(*session), 6 * matrices + 14 * 8.5 * 16);
  EXPECT_EQ(sizeLine(*session).substr(0, 41), "5123 parameters, 3 of them the encoding's");
  config.model.tieHead = true;
  EXPECT_DOUBLE_EQ(flopsPerToken(*makeSession(config)), 6 * matrices + 14 * 8.5 * 16);
}

TEST_F(SessionTest, ResumedPlateauDetectionEqualsUninterruptedRun) {
  TrainConfig config = smallConfig();
  config.learningRate = 0; // nothing falls
  config.phases = {{"", 9}, {"other", 3}};
  config.reinit.enabled = true;
  config.reinit.when = ReinitTime::Plateau;
  config.reinit.plateauInterval = 1;
  config.reinit.plateauWindow = 4;
  // The window must fill again after a reinit and after the start of a phase.
  expectResumedRunEqualsUninterruptedRun(config, {4, 8});
}

TEST_F(SessionTest, EvaluatesBetweenSteps) {
  struct Evaluations : Observer {
    std::vector<int64_t> steps;
    void onEvaluation(int64_t step, const std::map<int64_t, double> &) override {
      steps.push_back(step);
    }
  } evaluations;
  TrainConfig config = smallConfig();
  config.evaluationInterval = 3;
  Recorder often, never;
  ASSERT_TRUE(makeSession(config)->run({&often, &evaluations}));
  EXPECT_EQ(evaluations.steps, (std::vector<int64_t>{3, 6}));
  config.evaluationInterval = 0;
  ASSERT_TRUE(makeSession(config)->run({&never}));
  EXPECT_EQ(often.losses, never.losses);
}

TEST_F(SessionTest, TheRoutingTableHasEveryParameter) {
  TrainConfig config = smallConfig();
  config.optimizer.kind = OptimizerKind::Muon;
  config.reinit.enabled = true;
  config.reinit.change.target = ReinitTarget::Mlp;
  config.encodingRate = 0.01;
  auto session = makeSession(config);
  const std::string table = routingTable(*session);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'),
            1 + session->trainer().model().layout().size());
  for (const char *line :
       {"parameter                     shape   optimizer  lr     decay  reinit  why\n",
        "layer0.attention.wq           16x16   muon       0.02   0.1    no      matrix of "
        "attention\n",
        "layer0.mlp.w1                 32x16   muon       0.02   0.1    yes     matrix of a "
        "feed-forward layer\n",
        "layer0.attention.bias.slopes  2       adamw      0.01   no     no      parameter of the "
        "encoding\n",
        "head                          96x16   adamw      0.003  0.1    no      output head: "})
    EXPECT_NE(table.find(line), std::string::npos) << line << table;
}

TEST(Plateau, IsAFullWindowWithoutAFall) {
  EXPECT_NEAR(trendOf({3, 2, 1, 0}).slope, -1, 1e-12);
  EXPECT_NEAR(trendOf({3, 2, 1, 0}).standardError, 0, 1e-12);
  // Computed manually: x = -1.5, -0.5, 0.5, 1.5.
  EXPECT_NEAR(trendOf({1, 0, 1, 0}).slope, -0.2, 1e-12);
  EXPECT_NEAR(trendOf({1, 0, 1, 0}).standardError, std::sqrt(0.8 / 2 / 5), 1e-12);
  PlateauWatch watch(4);
  for (double value : {9.0, 3.0, 2.0, 1.1}) {
    EXPECT_FALSE(watch.onPlateau());
    watch.add(value);
  }
  EXPECT_FALSE(watch.onPlateau());
  for (double value : {1.0, 1.2, 0.9})
    watch.add(value);
  EXPECT_TRUE(watch.onPlateau());
  watch.clear();
  EXPECT_FALSE(watch.onPlateau());
}

TEST_F(SessionTest, ResumesIfThereIsSomething) {
  TrainConfig config = smallConfig();
  config.checkpoint = path("checkpoint");
  config.checkpointInterval = 2;
  config.keepCheckpoints = 2;
  config.resume = true;
  EXPECT_EQ(sessionError(config), "expected a checkpoint to resume from in '" + path("checkpoint") +
                                      "', found none; omit --resume to start a new run, or use "
                                      "--resume=if-any");
  config.resumeIfAny = true;
  auto session = makeSession(config);
  EXPECT_FALSE(session->isResumed());
  ASSERT_TRUE(session->run({}));
  session.reset();
  auto again = makeSession(config);
  EXPECT_TRUE(again->isResumed());
  EXPECT_EQ(again->trainer().steps(), 6);
  EXPECT_TRUE(fs::exists(directory / "checkpoint" / "step-4"));
  EXPECT_FALSE(fs::exists(directory / "checkpoint" / "step-2"));
  auto options = readTrainOptions({{"checkpoint", "x"}, {"resume", "if-any"}, {"keep", "3"}});
  ASSERT_TRUE(options) << options.error().getMessage();
  EXPECT_TRUE(options->config.resume && options->config.resumeIfAny);
  EXPECT_EQ(options->config.keepCheckpoints, 3);
  EXPECT_EQ(optionsError({{"checkpoint", "x"}, {"resume", "always"}}),
            "--resume: expected no value or 'if-any', found 'always'");
}

TEST_F(SessionTest, ACheckpointBeyondTheRunIsRefused) {
  TrainConfig config = smallConfig();
  config.checkpoint = path("checkpoint");
  ASSERT_TRUE(makeSession(config)->run({}));
  config.resume = true;
  EXPECT_EQ(makeSession(config)->trainer().steps(), 6);
  config.phases = {{"", 5}};
  EXPECT_EQ(sessionError(config),
            "expected a checkpoint of at most 5 steps, the length of the run, "
            "found one of 6 in '" +
                path("checkpoint") + "'");
}

TEST_F(SessionTest, RejectsAnInvalidCheckpointDirectoryBeforeTraining) {
  TrainConfig config = smallConfig();
  config.checkpoint = path("file");
  ASSERT_TRUE(writeFileAtomically(config.checkpoint, "text"));
  EXPECT_EQ(sessionError(config),
            "cannot create the checkpoint directory '" + path("file") + "': Not a directory");
}

} // namespace
