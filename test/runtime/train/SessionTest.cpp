//===- SessionTest.cpp - Entire runs and their flags ----------------------===//

#include "Sessions.h"
#include "runtime/core/File.h"
#include "runtime/train/session/Observers.h"
#include "runtime/train/session/Options.h"
#include "runtime/train/session/Plateau.h"
#include "runtime/train/session/Routing.h"
#include "runtime/train/trainer/WarmStart.h"

#include <filesystem>
#include <nlohmann/json.hpp>

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

TEST_F(SessionTest, StopsDoNotShowInsideAPhase) {
  TrainConfig config = smallConfig();
  config.phases = {{"", 3}, {"other", 5}};
  config.phases[1].sequence = 32;
  config.phases[1].learningRate = 1e-3;
  config.phases[1].warmup = 3;
  config.phases[1].decay = Decay::Cosine;
  config.phases[1].redoInterval = 2;
  config.reinit.enabled = true;
  expectStopsDoNotShow(config, {3});

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

TEST_F(SessionTest, AWarmStartBeginsWithTheWeightsAndItsStopsDoNotShow) {
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
    expectStopsDoNotShow(config, {});
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

TEST_F(SessionTest, StopsDoNotShowWithMuonAndAccumulation) {
  TrainConfig config = smallConfig();
  config.optimizer.kind = OptimizerKind::Muon;
  config.accumulate = 2;
  config.decay = Decay::Wsd;
  config.phases = {{"", 4}, {"other", 4}};
  config.reinit.enabled = true;
  expectStopsDoNotShow(config, {4});
}

TEST_F(SessionTest, StopsDoNotShowWithMasksSharedAndFrozenParameters) {
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
  expectStopsDoNotShow(config, {});
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

TEST_F(SessionTest, StopsDoNotShowInTheWatchForAPlateau) {
  TrainConfig config = smallConfig();
  config.learningRate = 0; // nothing falls
  config.phases = {{"", 9}, {"other", 3}};
  config.reinit.enabled = true;
  config.reinit.when = ReinitTime::Plateau;
  config.reinit.plateauInterval = 1;
  config.reinit.plateauWindow = 4;
  // The window must fill again after a reinit and after the start of a phase.
  expectStopsDoNotShow(config, {4, 8});
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

TEST_F(SessionTest, LogsEveryStepAndTheEncoding) {
  auto log = LogWriter::open(path("log.jsonl"), false);
  ASSERT_TRUE(log);
  TrainConfig config = smallConfig();
  config.reinit.enabled = true;
  config.reinit.when = ReinitTime::Step;
  config.reinit.step = 3;
  auto session = makeSession(config);
  (*log)->writeStart(*session, {{"pe.train.dim", "16"}});
  ASSERT_TRUE(session->run({log->get()}));
  auto content = readFile(path("log.jsonl"));
  ASSERT_TRUE(content);
  std::istringstream lines(*content);
  std::vector<nlohmann::json> events;
  for (std::string line; std::getline(lines, line);)
    events.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(events.size(), 1u + 6u + 1u + 1u);
  EXPECT_EQ(events[0]["event"], "start");
  EXPECT_EQ(events[0]["encoding_params"], 3);
  EXPECT_EQ(events[1]["step"], 0);
  const auto &encoding = events[1]["encoding"];
  EXPECT_EQ(encoding["layer0.attention.bias.slopes"].size(), 2u);
  // The pe.monitor values are logged together with the parameters.
  ASSERT_EQ(encoding["layer0.attention.bias.range"].size(), 2u);
  EXPECT_NEAR(encoding["layer0.attention.bias.range"][1].get<double>(),
              1 / encoding["layer0.attention.bias.slopes"][1].get<double>(), 1e-6);
  EXPECT_EQ(encoding["layer0.attention.bias.wrong"],
            "expected the name of a parameter, found 'slope'");
  for (const char *key : {"loss", "bits_per_char", "grad_norm", "weight_norm", "lr", "skipped"})
    EXPECT_TRUE(events[1].contains(key)) << key;
  EXPECT_EQ(events[1]["optimizers"]["adamw"]["grad_norm"], events[1]["grad_norm"]);
  EXPECT_EQ(events[0]["parameters"][0]["optimizer"], "adamw");
  EXPECT_EQ(events[4]["event"], "reinit");
  EXPECT_EQ(events[4]["matrices"].size(), 6u);
  EXPECT_TRUE(events.back()["bits_per_char"].contains("32"));
  EXPECT_FALSE(LogWriter::open(path("missing/log.jsonl"), false));
}

TEST_F(SessionTest, ALogThatCannotBeWrittenEndsTheRun) {
  auto log = LogWriter::open("/dev/full", false);
  ASSERT_TRUE(log);
  auto session = makeSession(smallConfig());
  auto bits = session->run({log->get()});
  ASSERT_FALSE(bits);
  EXPECT_EQ(bits.error().getMessage(),
            "file '/dev/full': cannot write the log: No space left on device");
  EXPECT_EQ(session->trainer().steps(), 1);
}

TEST_F(SessionTest, ALogGoesOnBehindItsLastWholeLine) {
  for (const auto &[before, kept] :
       {std::pair{"{}\n{\"a\": 1}\n{\"event\": \"st", 2}, {"{}\n", 1}, {"{\"torn", 0}, {"", 0}}) {
    ASSERT_TRUE(writeFileAtomically(path("log.jsonl"), before));
    {
      auto log = LogWriter::open(path("log.jsonl"), /*resume=*/true);
      ASSERT_TRUE(log);
      (*log)->onEvaluation(6, {{16, 1.5}});
    }
    std::istringstream lines(*readFile(path("log.jsonl")));
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count)
      EXPECT_TRUE(nlohmann::json::accept(line)) << line;
    EXPECT_EQ(count, kept + 1);
  }
}

// Events of a killed run after its checkpoint are repeated, and logged again.
TEST_F(SessionTest, ALogIsCutBackToTheCheckpoint) {
  const std::string kept = "{\"event\":\"start\",\"step\":0}\n"
                           "{\"event\":\"step\",\"step\":0}\n"
                           "{\"event\":\"step\",\"step\":1}\n"
                           "{\"event\":\"evaluation\",\"step\":2}\n";
  for (const char *ahead :
       {"{\"event\":\"reinit\",\"step\":2}\n", "{\"event\":\"step\",\"step\":2}\n",
        "{\"event\":\"evaluation\",\"step\":3}\n", ""}) {
    ASSERT_TRUE(writeFileAtomically(path("log.jsonl"), kept + ahead + (*ahead ? kept : "{")));
    ASSERT_TRUE(LogWriter::open(path("log.jsonl"), /*resume=*/true, {2, 6}));
    EXPECT_EQ(*readFile(path("log.jsonl")), kept) << ahead;
  }
  // The final evaluation is repeated.
  ASSERT_TRUE(LogWriter::open(path("log.jsonl"), /*resume=*/true, {2, 2}));
  EXPECT_EQ(*readFile(path("log.jsonl")), kept.substr(0, kept.rfind('\n', kept.size() - 2) + 1));
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

TEST_F(SessionTest, ACheckpointFolderThatCannotBeIsRefusedBeforeTraining) {
  TrainConfig config = smallConfig();
  config.checkpoint = path("file");
  ASSERT_TRUE(writeFileAtomically(config.checkpoint, "text"));
  EXPECT_EQ(sessionError(config),
            "cannot create the checkpoint directory '" + path("file") + "': Not a directory");
}

TEST(Options, DefaultsAreTheDemosModel) {
  auto options = readTrainOptions({});
  ASSERT_TRUE(options) << options.error().getMessage();
  TrainConfig fresh;
  EXPECT_EQ(options->config.model.dim, fresh.model.dim);
  EXPECT_EQ(options->config.learningRate, fresh.learningRate);
  EXPECT_EQ(options->config.evaluation.lengths, fresh.evaluation.lengths);
  EXPECT_EQ(options->config.totalSteps(), 600);
  EXPECT_FALSE(options->config.reinit.enabled);
  EXPECT_EQ(options->identity.at("pe.train.dim"), "64");
  EXPECT_EQ(options->identity.count("pe.train.threads"), 0u);
}

TEST(Options, AreRead) {
  auto options = readTrainOptions({{"dim", "128"},
                                   {"heads", "8"},
                                   {"kv-heads", "2"},
                                   {"lr", "1e-3"},
                                   {"eval-lengths", "64,128"},
                                   {"reinit-iters", "4"},
                                   {"reinit-at", "100"},
                                   {"reinit-target", "mlp"},
                                   {"reinit-scale", "fro"},
                                   {"schedule", "cosine"},
                                   {"seed", "7"}});
  ASSERT_TRUE(options) << options.error().getMessage();
  const TrainConfig &config = options->config;
  EXPECT_EQ(config.model.dim, 128);
  EXPECT_EQ(config.model.keyHeads, 2);
  EXPECT_EQ(config.learningRate, 1e-3);
  EXPECT_EQ(config.evaluation.lengths, (std::vector<int64_t>{64, 128}));
  EXPECT_TRUE(config.reinit.enabled);
  EXPECT_EQ(config.reinit.when, ReinitTime::Step);
  EXPECT_EQ(config.reinit.step, 100);
  EXPECT_EQ(config.reinit.change.target, ReinitTarget::Mlp);
  EXPECT_EQ(config.reinit.change.settings.scale, reinit::Scale::Fro);
  EXPECT_EQ(config.decay, Decay::Cosine);
  EXPECT_EQ(config.seed, 7u);
}

TEST(Options, AreReadForMuon) {
  auto options = readTrainOptions({{"optimizer", "muon"},
                                   {"muon-lr", "0.01"},
                                   {"muon-momentum", "0.9"},
                                   {"muon-orth", "polar-express"},
                                   {"muon-adjust", "match-rms"},
                                   {"schedule", "wsd"},
                                   {"final-lr", "0"},
                                   {"accumulate", "3"},
                                   {"weight-decay", "0.05"},
                                   {"eval-interval", "7"}});
  ASSERT_TRUE(options) << options.error().getMessage();
  const OptimizerConfig &config = options->config.optimizer;
  EXPECT_EQ(config.kind, OptimizerKind::Muon);
  EXPECT_EQ(config.muon.learningRate, 0.01);
  EXPECT_EQ(config.muon.momentum, 0.9);
  EXPECT_EQ(config.muon.orthogonal, MuonOrthogonal::PolarExpress);
  EXPECT_EQ(config.muon.adjust, MuonAdjust::MatchRms);
  EXPECT_EQ(config.muon.weightDecay, 0.05);
  EXPECT_EQ(config.adamw.weightDecay, 0.05);
  EXPECT_EQ(options->config.decay, Decay::Wsd);
  EXPECT_EQ(options->config.finalRate, 0);
  EXPECT_EQ(options->config.accumulate, 3);
  EXPECT_EQ(options->config.evaluationInterval, 7);
  EXPECT_EQ(trainDefaults().at("pe.train.optimizer"), "adamw");
  EXPECT_EQ(trainDefaults().count("pe.train.threads"), 0u);
}

TEST(Options, OfTheModelAreRead) {
  auto options = readTrainOptions({{"objective", "masked"},
                                   {"vocab", "byte"},
                                   {"norm", "layer"},
                                   {"tie-head", "on"},
                                   {"share-encoding", "on"},
                                   {"init-proj", "zero"},
                                   {"init", "a=uniform(0,2),b=1"},
                                   {"attr", "base=500"},
                                   {"freeze", "^head"},
                                   {"mlp-hidden-mult", "0"}});
  ASSERT_TRUE(options) << options.error().getMessage();
  const TrainConfig &config = options->config;
  EXPECT_EQ(config.objective, Objective::Masked);
  EXPECT_EQ(config.tokenCount(), 257);
  EXPECT_EQ(config.model.norm, NormKind::Layer);
  EXPECT_TRUE(config.model.tieHead && config.model.shareEncoding && config.model.zeroProjections);
  EXPECT_EQ(config.initialValues, (InitialTexts{{"a", "uniform(0,2)"}, {"b", "1"}}));
  ASSERT_EQ(config.attributes.size(), 1u);
  EXPECT_EQ(config.attributes[0], (std::pair<std::string, std::string>{"base", "500"}));
  EXPECT_EQ(config.freeze, "^head");
  EXPECT_EQ(config.model.hidden(), 256);
  EXPECT_EQ(optionsError({{"objective", "next"}}),
            "--objective: expected an objective of 'causal' or 'masked', found 'next'");
  EXPECT_EQ(optionsError({{"tie-head", "yes"}}), "--tie-head: expected 'on' or 'off', found 'yes'");
  EXPECT_EQ(optionsError({{"norm", "batch"}}), "--norm: expected 'rms' or 'layer', found 'batch'");
  EXPECT_EQ(optionsError({{"init-proj", "one"}}),
            "--init-proj: expected 'scaled' or 'zero', found 'one'");
  EXPECT_EQ(optionsError({{"init", "a"}}), "--init: expected NAME=VALUE, found 'a'");
  EXPECT_EQ(optionsError({{"attr", "a=1,a=2"}}), "--attr: 'a' is given twice");
  // Checkpoints of versions without a flag are assumed to have its default.
  EXPECT_EQ(trainDefaults().at("pe.train.tie-head"), "off");
  EXPECT_EQ(trainDefaults().at("pe.train.freeze"), "");
}

TEST(Options, RefuseWhatTheyDoNotKnow) {
  EXPECT_EQ(optionsError({{"dims", "3"}}), "unknown flag 'dims'; did you mean 'dim'?");
  EXPECT_EQ(optionsError({{"dim", "big"}}), "--dim: expected an integer, found 'big'");
  EXPECT_EQ(optionsError({{"layers", "0"}}), "--layers: expected at least 1, found 0");
  EXPECT_EQ(optionsError({{"lr", "nan"}}), "--lr: expected a finite number, found 'nan'");
  EXPECT_EQ(optionsError({{"optimizer", "sgd"}}),
            "--optimizer: expected an optimizer of 'adamw' or 'muon', found 'sgd'");
  EXPECT_EQ(optionsError({{"muon-lr", "0.01"}}),
            "expected --optimizer=muon with --muon-lr, found adamw");
  EXPECT_EQ(optionsError({{"optimizer", "muon"}, {"muon-orth", "svd"}}),
            "--muon-orth: expected 'quintic', 'polar-express' or 'qdwh', found 'svd'");
  EXPECT_EQ(optionsError({{"optimizer", "muon"}, {"muon-adjust", "none"}}),
            "--muon-adjust: expected 'original' or 'match-rms', found 'none'");
  EXPECT_EQ(optionsError({{"optimizer", "muon"}, {"muon-momentum", "1"}}),
            "--muon-momentum: expected a number from 0 to below 1, found '1'");
  EXPECT_EQ(optionsError({{"optimizer", "muon"}, {"muon-lr", "-1"}}),
            "--muon-lr: expected at least 0, found -1");
  EXPECT_EQ(optionsError({{"schedule", "step"}}), "--schedule: expected a schedule of 'linear', "
                                                  "'cosine', 'constant' or 'wsd', found 'step'");
  EXPECT_EQ(optionsError({{"final-lr", "1.5"}}),
            "--final-lr: expected a number from 0 to 1, found '1.5'");
  EXPECT_EQ(optionsError({{"seq", "1000000000000"}, {"batch", "3"}}),
            "expected at most 2147483647 tokens in a batch, found --batch=3 times 1000000000000 "
            "(--seq)");
  EXPECT_EQ(optionsError({{"eval-lengths", "64,4294967296"}}),
            "--eval-lengths: expected at most 2147483647, found 4294967296");
  EXPECT_EQ(optionsError({{"accumulate", "0"}}), "--accumulate: expected at least 1, found 0");
  EXPECT_EQ(optionsError({{"plateau-window", "2"}}),
            "--plateau-window: expected at least 3, found 2");
  EXPECT_EQ(optionsError({{"plateau-window", "5"}}),
            "expected --reinit-iters and --reinit-at=plateau with --plateau-window, found neither "
            "or one of them");
  EXPECT_EQ(optionsError({{"reinit-iters", "5"}}),
            "--reinit-iters: expected 0 (no reinit) or 4 (the iterations of engine qdwh), found "
            "'5'");
  EXPECT_EQ(optionsError({{"reinit-at", "never"}}),
            "--reinit-at: expected 'phase', 'plateau' or a step number, found 'never'");
  EXPECT_EQ(optionsError({{"reinit-iters", "4"}, {"reinit-engine", "quintic"}}),
            "--reinit-iters: expected 0 (no reinit) or 1 (reinit), found '4'");
  EXPECT_EQ(optionsError({{"reinit-iters", "-1"}, {"reinit-engine", "cubic"}}),
            "--reinit-iters: expected 0 (no reinit) to 1000 steps, found -1");
  EXPECT_EQ(optionsError({{"shrink", "2"}}), "--shrink: expected 0 to 1, found 2");
  EXPECT_EQ(optionsError({{"reinit-method", "zero"}}),
            "--reinit-method: expected a method of 'project', 'shrink-perturb' or 'fresh', found "
            "'zero'");
  EXPECT_EQ(optionsError({{"resume", "true"}}),
            "expected --checkpoint=DIR with --resume, found none");
  EXPECT_EQ(optionsError({{"dim", "60"}}),
            "expected a head size --dim / --heads that is a multiple "
            "of 8, found 60 / 4 = 15");
}

TEST_F(SessionTest, OptionsComeFromFilesToo) {
  ASSERT_TRUE(writeFileAtomically(path("config.json"), R"({"dim": 128, "lr": 0.001, "seq": 64})"));
  auto options = readTrainOptions({{"config", path("config.json")}, {"seq", "32"}});
  ASSERT_TRUE(options) << options.error().getMessage();
  EXPECT_EQ(options->config.model.dim, 128);
  EXPECT_EQ(options->config.sequence, 32);
  ASSERT_TRUE(writeFileAtomically(path("config.json"), R"({"dims": 128})"));
  EXPECT_EQ(optionsError({{"config", path("config.json")}}),
            path("config.json") + ": unknown flag 'dims'; did you mean 'dim'?");

  ASSERT_TRUE(
      writeFileAtomically(path("phases.json"), R"([{"data": "a", "steps": 5}, {"steps": 7}])"));
  options = readTrainOptions({{"phases", path("phases.json")}});
  ASSERT_TRUE(options) << options.error().getMessage();
  ASSERT_EQ(options->config.phases.size(), 2u);
  EXPECT_EQ(options->config.phases[0].data, "a");
  EXPECT_EQ(options->config.totalSteps(), 12);
  for (const char *bad : {"{}", "[]", "[{}]", "[3]"}) {
    ASSERT_TRUE(writeFileAtomically(path("phases.json"), bad));
    EXPECT_NE(optionsError({{"phases", path("phases.json")}}).find("expected a JSON list"),
              std::string::npos)
        << bad;
  }
  for (const char *tooLong : {R"([{"steps": 18446744073709551615}])",
                              R"([{"steps": 4611686018427387904}, {"steps": 4611686018427387904}])",
                              R"([{"steps": 9007199254740992}, {"steps": 1}])"}) {
    ASSERT_TRUE(writeFileAtomically(path("phases.json"), tooLong));
    EXPECT_EQ(optionsError({{"phases", path("phases.json")}}),
              "--phases: expected at most 2^53 steps in all phases of '" + path("phases.json") +
                  "', found more");
  }
  ASSERT_TRUE(writeFileAtomically(path("phases.json"), R"([{"steps": 4294967296}])"));
  options = readTrainOptions({{"phases", path("phases.json")}});
  ASSERT_TRUE(options) << options.error().getMessage();
  EXPECT_EQ(options->config.totalSteps(), 4294967296);
}

} // namespace
