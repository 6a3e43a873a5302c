//===- ReportTest.cpp - The demo's page and results.json ---------------------===//

#include "runtime/train/report/Report.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace pe::train;

namespace {

ReportContent sample() {
  ReportContent content;
  content.corpusDirectory = "/usr/lib/python3.11";
  content.corpusSha256 = "abc";
  content.corpusBytes = 11230572;
  content.corpusFiles = 666;
  content.setup = "2 layers & <64> wide";
  content.seconds = 123;
  content.threads = 4;
  for (int e = 0; e < 3; ++e) {
    EncodingResult result;
    result.name = std::string(1, static_cast<char>('a' + e)) + "_encoding";
    result.encodingParams = 396 * e;
    result.modelParams = 110592 + 396 * e;
    for (int64_t length : {256, 512, 1024, 2048})
      result.bitsPerChar[length] = 2 + 0.4 * e * std::log2(length / 256.0);
    for (int step = 0; step < 600; step += 10)
      result.curve.emplace_back(step, 2 + 4.5 * std::exp(-step / (100.0 + 30 * e)));
    content.results.push_back(result);
  }
  content.limits = {"no gain from longer context"};
  return content;
}

size_t count(const std::string &text, const std::string &part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++n;
  return n;
}

TEST(Report, JsonHasTheContractsForm) {
  auto json = nlohmann::json::parse(toJson(sample()));
  EXPECT_EQ(json["corpus"],
            (nlohmann::json{{"sha256", "abc"}, {"bytes", 11230572}, {"files", 666}}));
  EXPECT_EQ(json["seconds"], 123.0);
  ASSERT_EQ(json["encodings"].size(), 3u);
  auto entry = json["encodings"]["b_encoding"];
  EXPECT_EQ(entry.size(), 4u);
  EXPECT_EQ(entry["encoding_params"], 396);
  EXPECT_EQ(entry["model_params"], 110988);
  EXPECT_EQ(entry["train_seconds"], 0.0);
  EXPECT_EQ(entry["bits_per_char"].size(), 4u);
  EXPECT_DOUBLE_EQ(entry["bits_per_char"]["1024"].get<double>(), 2.8);
}

TEST(Report, PageHasEveryNumberAndChart) {
  ReportContent content = sample();
  pe::chart::LineChart bias{.title = "bias",
                            .series = {{.name = "head 0", .points = {{1, 0}, {100, -3}}}}};
  content.biasCharts.push_back(bias);
  pe::chart::Heatmap map{.title = "map", .panels = {{.rows = {{0, std::nan("")}, {1, 2}}}}};
  content.heatmaps.push_back(map);
  std::string page = toHtml(content);
  EXPECT_NE(page.find("2 layers &amp; &lt;64&gt; wide"), std::string::npos);
  EXPECT_NE(page.find("<td class=\"worse\">2.800</td>"), std::string::npos);
  EXPECT_NE(page.find("110,988"), std::string::npos);
  EXPECT_NE(page.find("no gain from longer context"), std::string::npos);
  EXPECT_EQ(count(page, "<path class=\"line\""), 3u + 3u + 1u);
  EXPECT_EQ(page.find("nan"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  std::ofstream("report-test.html") << page;
}

} // namespace
