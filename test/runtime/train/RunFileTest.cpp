//===- RunFileTest.cpp - Logs, results and tables -------------------------===//

#include "runtime/train/report/RunFile.h"
#include "runtime/core/TempDir.h"
#include "runtime/train/report/Report.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>

using namespace pe::train;

namespace {

const char *const kLog = R"({"event":"start","step":0}
{"event":"step","step":0,"loss":4.5,"bits_per_char":6.5,"lr":0.1}
{"event":"step","step":1,"loss":null,"bits_per_char":null}
{"event":"reinit","step":1,"matrices":[]}
{"event":"evaluation","step":2,"bits_per_char":{"256":2.5,"512":2.25}}
)";

std::string messageOf(const std::string &text) {
  auto file = parseRunFile(text, "run.jsonl");
  return file ? "no error" : file.error().getMessage();
}

TEST(RunFile, ReadsALog) {
  auto file = parseRunFile(kLog, "directory/fire.jsonl");
  ASSERT_TRUE(file) << file.error().render("parse");
  ASSERT_EQ(file->runs.size(), 1u);
  const RunRecord &run = file->runs[0];
  EXPECT_EQ(run.name, "fire");
  ASSERT_EQ(run.loss.size(), 2u);
  EXPECT_EQ(run.loss[0], std::pair(0.0, 6.5));
  EXPECT_TRUE(std::isnan(run.loss[1].second)); // not finite when it was written
  EXPECT_EQ(run.bitsPerChar, (std::map<int64_t, double>{{256, 2.5}, {512, 2.25}}));
}

TEST(RunFile, IgnoresThePartialLineOfAKilledProcess) {
  auto file = parseRunFile(std::string(kLog) + "{\"event\":\"st", "run.jsonl");
  ASSERT_TRUE(file) << file.error().render("parse");
  EXPECT_EQ(file->runs[0].loss.size(), 2u);
  EXPECT_EQ(messageOf("{\"event\":\"st\n" + std::string(kLog)),
            "run.jsonl:1:13: expected a line of JSON as pe train --log writes it, found invalid "
            "string: missing closing quote; last read: '\"st'");
}

TEST(RunFile, ReadsResultsOfTheDemo) {
  ReportContent content;
  EncodingResult result;
  result.name = "t5";
  result.bitsPerChar = {{256, 2.5}, {2048, 3.0}};
  content.results = {result};
  auto file = parseRunFile(toJson(content), "results.json");
  ASSERT_TRUE(file) << file.error().render("parse");
  ASSERT_EQ(file->runs.size(), 1u);
  EXPECT_EQ(file->runs[0].name, "t5");
  EXPECT_EQ(file->runs[0].bitsPerChar, result.bitsPerChar);
}

TEST(RunFile, ReadsATableOfBench) {
  auto file = parseRunFile(R"({"cpu": "C", "threads": 2, "copy_bytes_per_second": 1e10, "rows": [
    {"encoding": "t5", "n": 512, "forward_seconds": 0.5, "forward_flops": 1e9,
     "forward_bytes": 1e6, "forward_share_of_peak": 0.7, "backward_seconds": 1.5}]})",
                           "bench.json");
  ASSERT_TRUE(file) << file.error().render("parse");
  EXPECT_EQ(file->cpu, "C");
  EXPECT_EQ(file->copyBytesPerSecond, 1e10);
  ASSERT_EQ(file->bench.size(), 2u);
  EXPECT_EQ(file->bench[0].half, "forward");
  EXPECT_EQ(file->bench[0].length, 512);
  EXPECT_EQ(file->bench[0].flops, 1e9);
  EXPECT_EQ(file->bench[1].seconds, 1.5);
  EXPECT_EQ(file->bench[1].flops, 0);
}

TEST(RunFile, ReportsErrors) {
  EXPECT_EQ(messageOf(""),
            "run.jsonl: expected steps or evaluations of a training run, found none");
  EXPECT_EQ(messageOf("{}"), "run.jsonl: expected 'encodings' (pe demo), 'rows' (pe bench --json) "
                             "or lines with an 'event' (pe train --log), found none");
  EXPECT_EQ(messageOf("{\"event\": 3}"), "run.jsonl:1: 'event': expected a string, found 3");
  EXPECT_EQ(messageOf("[1]"), "run.jsonl:1: expected an object with an 'event', found a list");
  EXPECT_EQ(messageOf("{\"event\": \"step\"}"), "run.jsonl:1: expected 'step', found none");
  EXPECT_EQ(messageOf("{\"event\": \"step\", \"step\": 1e999}"),
            "run.jsonl:1:31: expected a line of JSON as pe train --log writes it, found the number "
            "1e999, which overflows float64");
  EXPECT_EQ(messageOf("{\"event\": \"evaluation\", \"bits_per_char\": {\"x\": 1}}"),
            "run.jsonl:1: 'bits_per_char': expected lengths of 1 or more, found \"x\"");
  EXPECT_EQ(messageOf("{\"encodings\": []}"),
            "run.jsonl: 'encodings': expected an object, found a list");
  EXPECT_EQ(messageOf("{\"encodings\": {\"a\": {\"bits_per_char\": {\"8\": true}}}}"),
            "run.jsonl: encoding 'a': 'bits_per_char': expected a number for each length, "
            "found true");
  EXPECT_EQ(messageOf("{\"rows\": 5}"), "run.jsonl: 'rows': expected a list, found 5");
  EXPECT_EQ(messageOf("{\"rows\": [{\"encoding\": \"a\", \"n\": -1}]}"),
            "run.jsonl: row 0: 'n': expected an integer of 0 or more, found -1");
}

TEST(RunFile, ReadsADirectory) {
  pe::test::TempDir dir;
  EXPECT_FALSE(readRun(dir.file("")));
  std::ofstream(dir.file("a.jsonl")) << kLog;
  std::ofstream(dir.file("b.jsonl")) << kLog;
  std::ofstream(dir.file("other.json")) << "{}";
  auto run = readRun(dir.file(""));
  ASSERT_TRUE(run) << run.error().render("read");
  ASSERT_EQ(run->runs.size(), 2u);
  EXPECT_EQ(run->runs[1].name, "b");
  EXPECT_FALSE(readRun(dir.file("none")));
}

} // namespace
