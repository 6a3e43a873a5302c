//===- ResumeTest.cpp - Runs that stop, resume and conflict ---------------===//

#include "Sessions.h"
#include "runtime/core/File.h"
#include "runtime/train/session/Outputs.h"

#include <sys/wait.h>

using namespace pe;
using namespace pe::test;
using namespace pe::train;

namespace {

struct ResumeTest : SessionTest {
  /// A configuration with checkpoints. Identities are those that pe train gives a run with its
  /// steps.
  TrainConfig config = withCheckpoints();

  TrainConfig withCheckpoints() const {
    TrainConfig result = smallConfig();
    result.decay = Decay::Constant;
    result.checkpoint = path("run");
    return result;
  }
  static Metadata identityOf(const TrainConfig &config) {
    return {{"pe.train.steps", std::to_string(config.phases[0].steps)}};
  }
  std::string resumeError() const {
    auto session = tryMakeSession(config, identityOf(config));
    return session ? "" : session.error().getMessage();
  }
  std::vector<float> weightsAfter(const TrainConfig &given) {
    auto session = makeSession(given, identityOf(given));
    EXPECT_TRUE(session->run({}));
    const ParameterBlock &values = session->trainer().model().values();
    return {values.data(), values.data() + values.size()};
  }
};

TEST_F(ResumeTest, RunsAreReplacedOnlyOnRequest) {
  config.log = path("log.jsonl");
  config.trace = path("trace.json");
  EXPECT_TRUE(checkOutputs(config));
  ASSERT_TRUE(writeFileAtomically(config.trace, "{}"));
  EXPECT_EQ(checkOutputs(config).error().getMessage(),
            "--trace: expected a new path, found the file '" + config.trace +
                "'; --resume continues it, --overwrite replaces it");
  ASSERT_TRUE(writeFileAtomically(config.log, "{}\n"));
  EXPECT_NE(checkOutputs(config).error().getMessage().find("--log: "), std::string::npos);
  ASSERT_TRUE(makeSession(config)->run({}));
  EXPECT_EQ(checkOutputs(config).error().getMessage(),
            "--checkpoint: expected a new path, found an earlier run's checkpoint in '" +
                config.checkpoint + "'; --resume continues it, --overwrite replaces it");
  config.overwrite = true;
  EXPECT_TRUE(checkOutputs(config));
  config.resume = true;
  EXPECT_EQ(checkOutputs(config).error().getMessage(),
            "expected --resume or --overwrite, found both");
  config.overwrite = false;
  EXPECT_TRUE(checkOutputs(config));
}

TEST_F(ResumeTest, DevicesAndEmptyFilesCanBeReplaced) {
  config.checkpoint = path("empty");
  fs::create_directories(config.checkpoint);
  config.log = "/dev/null";
  config.trace = path("trace.json");
  ASSERT_TRUE(writeFileAtomically(config.trace, ""));
  EXPECT_TRUE(checkOutputs(config));
}

TEST_F(ResumeTest, StoppedRunSavesAndResumesExactly) {
  config.evaluationInterval = 2;
  Recorder whole, parts;
  TrainConfig other = config;
  other.checkpoint = "";
  ASSERT_TRUE(makeSession(other)->run({&whole}));
  for (int64_t stop = 1; stop <= config.totalSteps(); ++stop) {
    auto session = makeSession(config);
    EXPECT_EQ(session->trainer().steps(), stop - 1);
    session->stopWhen([&] { return true; });
    auto bits = session->run({&parts});
    ASSERT_TRUE(bits) << bits.error().getMessage();
    EXPECT_TRUE(bits->empty());
    EXPECT_TRUE(session->hasStopped());
    EXPECT_TRUE(fs::exists(directory / "run" / ("step-" + std::to_string(stop))));
    config.resume = true;
  }
  EXPECT_EQ(parts.losses, whole.losses);
  auto end = makeSession(config)->run({&parts});
  ASSERT_TRUE(end);
  EXPECT_EQ(end->size(), 2u);
}

TEST_F(ResumeTest, MeanLossEqualsUninterruptedRun) {
  TrainConfig other = config;
  other.checkpoint = "";
  auto whole = makeSession(other);
  ASSERT_TRUE(whole->trainUntil(6, {}));
  EXPECT_GT(whole->trainer().meanLoss(), 1);
  config.checkpointInterval = 1;
  ASSERT_TRUE(makeSession(config)->trainUntil(3, {}));
  config.resume = true;
  auto rest = makeSession(config);
  ASSERT_TRUE(rest->trainUntil(6, {}));
  EXPECT_EQ(rest->trainer().meanLoss(), whole->trainer().meanLoss());
}

TEST_F(ResumeTest, MoreStepsEqualALongerRun) {
  TrainConfig longer = config;
  longer.checkpoint = "";
  longer.phases[0].steps = 9;
  const std::vector<float> expected = weightsAfter(longer);
  weightsAfter(config);
  config.resume = true;
  config.phases[0].steps = 9;
  EXPECT_EQ(weightsAfter(config), expected);
  // From now on it is a run of nine steps.
  EXPECT_EQ(readSavedRun(config.checkpoint)->metadata["pe.train.steps"], "9");
}

TEST_F(ResumeTest, RejectsMoreStepsAfterTheDecayBegan) {
  for (const Decay decay : {Decay::Linear, Decay::Cosine, Decay::Wsd}) {
    fs::remove_all(config.checkpoint);
    config.decay = decay;
    config.resume = false;
    config.phases[0].steps = 6;
    weightsAfter(config);
    config.resume = true;
    config.phases[0].steps = 9;
    EXPECT_EQ(resumeError(),
              "--steps: expected 6 as in the first run, whose 6 steps had the learning rates of "
              "--schedule for that number, found 9; --from=" +
                  config.checkpoint + " --from-optimizer=keep continues from there as a new run");
  }
  // Before either decay begins, the rates equal those of the longer run.
  fs::remove_all(config.checkpoint);
  config.decay = Decay::Linear;
  config.resume = false;
  config.checkpointInterval = 3;
  config.phases[0].steps = 8;
  ASSERT_TRUE(makeSession(config, identityOf(config))->trainUntil(3, {}));
  config.resume = true;
  config.phases[0].steps = 12;
  EXPECT_EQ(resumeError(), "");
}

TEST_F(ResumeTest, ProcessesDoNotShareADirectory) {
  auto first = makeSession(config);
  const std::string taken = "another pe train writes into '" + config.checkpoint +
                            "'; wait until it ends, or use another directory";
  EXPECT_EQ(sessionError(config), taken);
  // The lock is released when the process ends, even if it is killed.
  first.reset();
  if (const pid_t child = ::fork(); child == 0) {
    auto held = FolderLock::take(config.checkpoint, "another pe train");
    ::_exit(held ? 0 : 1);
  } else {
    int status = 1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(sessionError(config), "");
}

TEST_F(ResumeTest, LatestIsAlwaysACompleteCheckpoint) {
  config.resume = config.resumeIfAny = true;
  fs::create_directories(directory / "run" / "latest");
  EXPECT_EQ(sessionError(config),
            "file '" + path("run/latest") + "': expected a file, found a directory");
  fs::remove_all(directory / "run" / "latest");
  fs::create_symlink("latest", directory / "run" / "latest");
  EXPECT_NE(sessionError(config).find("Too many levels of symbolic links"), std::string::npos);
}

TEST_F(ResumeTest, DetectsShortTextsBeforeTheFirstStep) {
  config.evaluation.lengths = {16, 100000};
  Recorder recorder;
  auto bits = makeSession(config)->run({&recorder});
  ASSERT_FALSE(bits);
  EXPECT_NE(bits.error().getMessage().find("expected at least 100001 held-out characters"),
            std::string::npos);
  EXPECT_TRUE(recorder.losses.empty());
}

} // namespace
