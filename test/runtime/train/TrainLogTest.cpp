//===- TrainLogTest.cpp - Logs of runs ------------------------------------===//

#include "Sessions.h"
#include "runtime/core/File.h"
#include "runtime/train/session/Observers.h"

#include <nlohmann/json.hpp>
#include <sstream>

using namespace pe;
using namespace pe::test;
using namespace pe::train;

namespace {

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

TEST_F(SessionTest, ResumedLogContinuesAfterTheLastCompleteLine) {
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

} // namespace
