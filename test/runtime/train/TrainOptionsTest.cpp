//===- TrainOptionsTest.cpp - The flags of runs ---------------------------===//

#include "Sessions.h"
#include "runtime/core/File.h"

using namespace pe;
using namespace pe::test;
using namespace pe::train;

namespace {

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

TEST(Options, RejectUnknownValues) {
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

TEST_F(SessionTest, OptionsCanComeFromFiles) {
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
