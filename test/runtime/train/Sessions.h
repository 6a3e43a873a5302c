//===- Sessions.h - Small runs for tests ------------------------*- C++ -*-===//
//
// A directory for files, two texts of one line each, and runs of a small model on naive attention.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_RUNTIME_TRAIN_SESSIONS_H
#define PE_TEST_RUNTIME_TRAIN_SESSIONS_H

#include "Models.h"
#include "ScratchFolder.h"
#include "runtime/core/Error.h"
#include "runtime/train/session/Options.h"
#include "runtime/train/session/Session.h"

#include <filesystem>

namespace pe::test {

namespace fs = std::filesystem;

inline std::string optionsError(const train::FlagValues &values) {
  auto options = train::readTrainOptions(values);
  return options ? "accepted" : options.error().getMessage();
}

struct SessionTest : testing::Test {
  fs::path directory = scratchFolder("session-test");

  void SetUp() override {
    fs::remove_all(directory);
    fs::create_directories(directory);
  }
  void TearDown() override { fs::remove_all(directory); }

  std::string path(const std::string &name) const { return (directory / name).string(); }

  static std::shared_ptr<const train::Corpus> text(const std::string &line,
                                                   const train::Vocabulary &vocabulary) {
    auto corpus = std::make_shared<train::Corpus>();
    for (int i = 0; i < 60; ++i)
      corpus->training.add(line, vocabulary);
    corpus->heldOut = corpus->training;
    return corpus;
  }

  static train::TrainConfig smallConfig() {
    train::TrainConfig config;
    config.model = {.layers = 1, .dim = 16, .heads = 2, .keyHeads = 2, .mlpMultiple = 2};
    config.phases = {{"", 6}};
    config.sequence = 16;
    config.batch = 4;
    config.warmup = 2;
    config.evaluation = {.lengths = {16, 32}, .windows = 4, .scored = 8};
    return config;
  }

  static std::string sessionError(const train::TrainConfig &config) {
    auto session = tryMakeSession(config, {});
    return session ? "" : session.error().getMessage();
  }
  static std::unique_ptr<train::Session> makeSession(const train::TrainConfig &config,
                                                     train::Metadata identity = {}) {
    auto session = tryMakeSession(config, std::move(identity));
    EXPECT_TRUE(session) << session.error().getMessage();
    return std::move(*session);
  }
  static Expected<std::unique_ptr<train::Session>> tryMakeSession(const train::TrainConfig &config,
                                                                  train::Metadata identity) {
    EXPECT_TRUE(blas::load());
    train::Environment environment{compiledKernels(),
                                   [&] {
                                     return Expected<std::unique_ptr<train::AttentionFunction>>(
                                         std::make_unique<NaiveAttention>(config.model.heads));
                                   },
                                   inOrder};
    std::vector<std::shared_ptr<const train::Corpus>> corpora;
    for (size_t i = 0; i < config.phases.size(); ++i) {
      if (train::Task::isName(config.phases[i].data)) {
        auto task = train::readData(config.phases[i].data);
        EXPECT_TRUE(task);
        corpora.push_back(std::make_shared<const train::Corpus>(*std::move(task)));
        continue;
      }
      corpora.push_back(
          text(i % 2 ? "for x in range(10):\n" : "def f(x): return x + 1\n", config.vocabulary));
    }
    return train::Session::create(config, environment, corpora, std::move(identity));
  }

  struct Recorder : train::Observer {
    std::vector<double> losses, rates;
    std::vector<int64_t> reinits;
    void onStep(const train::StepReport &report, train::Trainer &) override {
      losses.push_back(report.loss);
      rates.push_back(report.learningRate);
    }
    void onReinit(int64_t step, const std::vector<reinit::MatrixReport> &) override {
      reinits.push_back(step);
    }
  };

  /// Checks that a run that is stopped and resumed after every step has the losses of an
  /// uninterrupted run.
  static void expectResumedRunEqualsUninterruptedRun(const train::TrainConfig &config,
                                                     const std::vector<int64_t> &reinits) {
    Recorder whole, parts;
    ASSERT_TRUE(makeSession(config)->run({&whole}));
    EXPECT_EQ(whole.reinits, reinits);
    train::TrainConfig broken = config;
    broken.checkpoint = (scratchFolder("session-test") / "stops").string();
    broken.checkpointInterval = 1;
    fs::remove_all(broken.checkpoint);
    for (int64_t step = 0; step < config.totalSteps(); ++step) {
      broken.resume = step > 0;
      // Ends the run one step later than necessary.
      struct Limit : train::Observer {
        int64_t left = 2;
        void onStep(const train::StepReport &, train::Trainer &) override { --left; }
        Status status() const override {
          return left > 0 ? Status::success() : Status(makeError("enough"));
        }
      } limit;
      Recorder recorder;
      auto session = makeSession(broken);
      EXPECT_EQ(session->trainer().steps(), step);
      auto bits = session->run({&recorder, &limit});
      EXPECT_EQ(static_cast<bool>(bits), step == config.totalSteps() - 1);
      ASSERT_FALSE(recorder.losses.empty());
      parts.losses.push_back(recorder.losses.front());
      for (int64_t reinit : recorder.reinits)
        if (reinit == step)
          parts.reinits.push_back(reinit);
    }
    EXPECT_EQ(parts.losses, whole.losses);
    EXPECT_EQ(parts.reinits, whole.reinits);
  }
};

} // namespace pe::test

#endif // PE_TEST_RUNTIME_TRAIN_SESSIONS_H
