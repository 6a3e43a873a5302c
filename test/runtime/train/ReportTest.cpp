//===- ReportTest.cpp - The page about several runs, and results.json -----===//

#include "runtime/train/report/Report.h"
#include "runtime/train/report/Table.h"

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

TEST(Report, JsonMatchesTheContract) {
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

/// Returns a bias with two heads over the positions 0 to 3, with maps of every second position.
LearnedBias sampleBias() {
  LearnedBias bias;
  bias.query = 3;
  bias.trainedLength = 2;
  bias.step = 2;
  bias.rows = {{-3, -2, -1, 0}, {0.5, 0.25, 0.125, 0}};
  bias.maps.assign(2, {{0, std::nan("")}, {-2, 0}});
  return bias;
}

TEST(Report, PageHasEveryNumberAndChart) {
  ReportContent content = sample();
  content.results[1].bias = sampleBias();
  std::string page = toHtml(content);
  EXPECT_NE(page.find("2 layers &amp; &lt;64&gt; wide"), std::string::npos);
  EXPECT_NE(page.find("<td class=\"worse\">2.800</td>"), std::string::npos);
  EXPECT_NE(page.find("110,988"), std::string::npos);
  EXPECT_NE(page.find("no gain from longer context"), std::string::npos);
  // Lines by length, training curves, heads and the trained length.
  EXPECT_EQ(count(page, "<path class=\"line\""), 3u + 3u + 3u);
  EXPECT_EQ(count(page, "<g class=\"cells\""), 2u);
  EXPECT_EQ(page.find("nan"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  std::ofstream("report-test.html") << page;
}

TEST(Report, EqualBiasesAreDrawnOnceAndZeroOnesNever) {
  ReportContent content = sample();
  content.results[0].bias = content.results[2].bias = sampleBias();
  content.results[1].bias.rows = {{0, 0, std::nan("")}};
  EXPECT_EQ(count(toHtml(content), "bias of layer 0 against distance</"), 1u);
  content.results[2].bias.rows[1][0] = 0.75;
  const std::string page = toHtml(content);
  EXPECT_NE(page.find("a_encoding: bias of layer 0 against distance</"), std::string::npos);
  EXPECT_NE(page.find("c_encoding: bias of layer 0 against distance</"), std::string::npos);
  EXPECT_EQ(page.find("b_encoding: bias"), std::string::npos);
  EXPECT_EQ(page.find("prefers far keys"), std::string::npos);
  content.results[2].bias.rows[1][0] = 1.5; // more than a logit above that of distance 0
  EXPECT_NE(toHtml(content).find("prefers far keys"), std::string::npos);
  content.results[2].bias.rows[1][3] = std::nan(""); // the query's own key is masked out
  EXPECT_NE(toHtml(content).find("prefers far keys"), std::string::npos);
}

TEST(Report, LinesShowTheDistancesFromTheQuery) {
  const pe::chart::LineChart chart = distanceChartOf("x", sampleBias());
  ASSERT_EQ(chart.series.size(), 3u);
  const std::vector<std::pair<double, double>> line = {{0, 0}, {1, -1}, {2, -2}, {3, -3}};
  EXPECT_EQ(chart.series[0].points, line);
  const std::vector<std::pair<double, double>> mark = {{2, -3}, {2, 0.5}};
  EXPECT_EQ(chart.series[2].points, mark);
  EXPECT_EQ(mapOf("x", sampleBias()).xStep, 2);
}

TEST(Report, RowsAreMeansOfTheirRuns) {
  EncodingResult first, second;
  first.name = second.name = "x";
  first.modelParams = second.modelParams = 100;
  first.trainSeconds = 1, second.trainSeconds = 3;
  first.bitsPerChar = {{16, 2}, {32, 4}}, second.bitsPerChar = {{16, 3}, {32, 4}};
  first.curve = {{10, 1}}, second.curve = {{10, 2}, {20, 5}};
  first.more["DfI"] = {0.5}, second.more["DfI"] = {0.25};
  first.bias = sampleBias();
  const EncodingResult mean = meanOf({&first, &second}, Measure::Bits);
  EXPECT_EQ(mean.seeds, 2);
  EXPECT_EQ(mean.trainSeconds, 2);
  EXPECT_EQ(mean.bitsPerChar.at(16), 2.5);
  EXPECT_NEAR(mean.deviation.at(16), std::sqrt(0.5), 1e-15);
  EXPECT_EQ(mean.deviation.at(32), 0);
  EXPECT_EQ(mean.bySeed.at(16), (std::vector<double>{2, 3}));
  EXPECT_EQ(mean.more.at("DfI"), (std::vector<double>{0.5, 0.25}));
  const std::vector<std::pair<double, double>> curve = {{10, 1.5}, {20, 5}};
  EXPECT_EQ(mean.curve, curve);
  EXPECT_TRUE(isSame(mean.bias, first.bias));
}

TEST(Report, TextTableIsEqualRowByRow) {
  const ReportContent content = sample();
  const TextTable table(Measure::Bits, "character", 1, {"a_encoding", "b_encoding", "c_encoding"},
                        {256, 512, 1024, 2048}, {});
  std::string text = table.header();
  for (const EncodingResult &result : content.results)
    text += table.row(result);
  EXPECT_EQ(text, toText(content));
  EXPECT_EQ(text.find("bits per character of the same held-out targets, by length of context; 1 "
                      "seed\n"),
            0u);
  EXPECT_NE(text.find("\nb_encoding  2.000  2.400  2.800  3.200    110592 + 396      0.0\n"),
            std::string::npos);
}

TEST(Margins, NoiseFollowsStudentsT) {
  // Computed manually: mean 0.2, sample deviation 0.1, error 0.1 / sqrt 3; the quantile for two
  // degrees of freedom is 4.303.
  const Margin margin = marginOf({0.1, 0.2, 0.3});
  EXPECT_NEAR(margin.mean, 0.2, 1e-15);
  EXPECT_NEAR(margin.error, 0.1 / std::sqrt(3.0), 1e-15);
  EXPECT_TRUE(margin.isNoise()); // 0.2 < 4.303 * 0.0577
  EXPECT_EQ(margin.text(), "+0.200 ± 0.058 ~");
  EXPECT_FALSE(marginOf({0.19, 0.2, 0.21}).isNoise());
  EXPECT_FALSE(marginOf({0.2, 0.2, 0.2}).isNoise());
  EXPECT_FALSE(marginOf({0.2}).isNoise()); // one seed has no standard error
  EXPECT_EQ(marginOf({0.2}).text(), "+0.200");
  EXPECT_EQ(marginOf({-0.0001}).text(), "+0.000");
  EXPECT_EQ(judge(marginOf({})), Verdict::Unmeasured);
  EXPECT_EQ(judge(margin), Verdict::Noise);
  EXPECT_EQ(judge(marginOf({-0.19, -0.2, -0.21})), Verdict::Fails);
  EXPECT_EQ(judge(marginOf({0.2})), Verdict::Holds);
}

/// Returns rows of three seeds whose spread is large compared with their differences.
ReportContent seeded() {
  ReportContent content = sample();
  for (size_t e = 0; e < content.results.size(); ++e) {
    EncodingResult &result = content.results[e];
    result.seeds = 3;
    for (auto &[length, value] : result.bitsPerChar)
      result.bySeed[length] = {value - 1, value + 0.001 * static_cast<double>(e), value + 1};
    result.more["dormant"] = {0.1, 0.2, 0.3};
    if (e > 0)
      result.baseline = "a_encoding";
  }
  return content;
}

TEST(Margins, SeedsAreComparedPairwise) {
  ReportContent content = seeded();
  // At 512, b is 0.4 above a. The seeds spread by 1, but their differences by only 0.001.
  const Margin margin = marginOf(content, content.results[1], 512);
  EXPECT_NEAR(margin.mean, 0.4 + 0.001 / 3, 1e-12);
  EXPECT_NEAR(margin.error, 0.001 / 3, 1e-12);
  EXPECT_FALSE(margin.isNoise());
  EXPECT_EQ(marginOf(content, content.results[0], 512).seeds, 0); // the baseline
  content.results[2].baseline = "b_encoding";
  EXPECT_NE(toText(content).find("c_encoding - b_encoding"), std::string::npos);
}

TEST(Margins, ClaimsAreJudgedAndShown) {
  ReportContent content = seeded();
  content.claims = {{"b is above a", {"a_encoding", "512"}, {"b_encoding", "512"}},
                    {"by a bit", {"a_encoding", "512"}, {"b_encoding", "512"}, 1},
                    {"a rises", {"a_encoding", "256"}, {"a_encoding", "512"}, -0.1},
                    {"many are dormant", {"", "", 0.05}, {"a_encoding", "dormant"}},
                    {"beyond", {"a_encoding", "256"}, {"a_encoding", "4096"}}};
  const Verdict expected[] = {Verdict::Holds, Verdict::Fails, Verdict::Holds, Verdict::Noise,
                              Verdict::Unmeasured};
  for (size_t i = 0; i < content.claims.size(); ++i)
    EXPECT_EQ(judge(marginOf(content, content.claims[i])), expected[i]) << i;
  EXPECT_EQ(numbersOf(content.claims[1], marginOf(content, content.claims[1])),
            "b_encoding@512 - a_encoding@512 = +0.400 ± 0.000, claimed: more than 1");
  const std::string text = toText(content), page = toHtml(content);
  for (const char *verdict : {"holds", "does not hold", "within noise", "not measured"}) {
    EXPECT_NE(text.find(verdict), std::string::npos);
    EXPECT_NE(page.find(verdict), std::string::npos);
  }
  auto json = nlohmann::json::parse(toJson(content));
  EXPECT_EQ(json["claims"][1]["verdict"], "does not hold");
  EXPECT_EQ(json["encodings"]["b_encoding"]["baseline"], "a_encoding");
  EXPECT_EQ(json["encodings"]["b_encoding"]["margin"]["512"]["noise"], false);
  EXPECT_NEAR(json["encodings"]["b_encoding"]["more"]["dormant"].get<double>(), 0.2, 1e-12);
}

TEST(Report, TimesAreNotMarkedAsWorse) {
  ReportContent content = sample();
  content.measure = Measure::ForwardTime;
  for (EncodingResult &result : content.results)
    std::swap(result.bitsPerChar, result.milliseconds);
  const std::string page = toHtml(content);
  EXPECT_EQ(page.find("class=\"worse\""), std::string::npos);
  EXPECT_NE(page.find("Milliseconds by context length"), std::string::npos);
  EXPECT_NE(toText(content).find("milliseconds of a forward pass"), std::string::npos);
}

} // namespace
