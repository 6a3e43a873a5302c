//===- Report.cpp - The demo's page ---------------------------------------===//
//
// HTML around the charts, and the results as JSON.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/report/Report.h"

#include "runtime/chart/SvgWriter.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

namespace pe::train {
namespace {

using chart::escapeXml;
using chart::Heatmap;
using chart::LineChart;
using chart::Series;

constexpr const char *kStyle = R"css(
:root { --ink: #222; --grid: #ddd; --page: #fff; --soft: #667; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --grid: #444; --page: #181a1f; --soft: #99a; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
       max-width: 1180px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25em .9em; text-align: right; border-bottom: 1px solid var(--grid); }
th:first-child, td:first-child { text-align: left; }
.soft { color: var(--soft); } .charts { display: flex; flex-wrap: wrap; gap: 1.2em; }
svg { max-width: 100%; height: auto; } code { font-size: .9em; overflow-wrap: anywhere; }
.worse { color: #c0392b; }
svg .page { fill: var(--page); } svg .ink { fill: var(--ink); }
svg .axis { stroke: var(--ink); } svg .grid { stroke: var(--grid); }
)css";

/// A length costs visibly more bits than the shortest.
constexpr double kVisiblyWorse = 0.05;

std::string fixed(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string thousands(int64_t value) {
  std::string digits = std::to_string(value);
  for (int64_t at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(at, ",");
  return digits;
}

std::vector<int64_t> lengthsOf(const ReportContent &content) {
  std::set<int64_t> lengths;
  for (const EncodingResult &result : content.results)
    for (auto [length, bits] : result.bitsPerChar)
      lengths.insert(length);
  return {lengths.begin(), lengths.end()};
}

std::string table(const ReportContent &content) {
  std::vector<int64_t> lengths = lengthsOf(content);
  std::string out = "<table>\n<tr><th>encoding</th>";
  for (int64_t length : lengths)
    out += "<th>" + std::to_string(length) + "</th>";
  out += "<th>parameters of it</th><th>of the model</th><th>seconds</th></tr>\n";
  for (const EncodingResult &result : content.results) {
    out += "<tr><td>" + escapeXml(result.name) + "</td>";
    double first = result.bitsPerChar.empty() ? 0 : result.bitsPerChar.begin()->second;
    for (int64_t length : lengths) {
      auto bits = result.bitsPerChar.find(length);
      if (bits == result.bitsPerChar.end())
        out += "<td></td>";
      else
        out += std::string("<td") +
               (bits->second > first + kVisiblyWorse ? " class=\"worse\">" : ">") +
               fixed(bits->second, 3) + "</td>";
    }
    out += "<td>" + thousands(result.encodingParams) + "</td><td>" + thousands(result.modelParams) +
           "</td><td>" + fixed(result.trainSeconds, 1) + "</td></tr>\n";
  }
  return out + "</table>\n";
}

LineChart lengthChart(const ReportContent &content) {
  LineChart chart;
  chart.title = "Bits per character by context length";
  chart.xLabel = "characters of context (trained at " + std::to_string(content.trainedLength) + ")";
  chart.yLabel = "bits per character";
  chart.x = chart::Scale::Kind::Log2;
  for (const EncodingResult &result : content.results) {
    Series series{.name = result.name, .marker = chart::Marker::Circle};
    for (auto [length, bits] : result.bitsPerChar)
      series.points.emplace_back(static_cast<double>(length), bits);
    chart.series.push_back(std::move(series));
  }
  return chart;
}

LineChart trainingChart(const ReportContent &content) {
  LineChart chart;
  chart.title = "Training loss";
  chart.xLabel = "step";
  chart.yLabel = "bits per character (smoothed)";
  for (const EncodingResult &result : content.results)
    chart.series.push_back({.name = result.name, .points = result.curve});
  return chart;
}

std::string section(const std::string &title, const std::string &text,
                    const std::vector<std::string> &charts) {
  std::string out =
      "<h2>" + escapeXml(title) + "</h2>\n<p>" + text + "</p>\n<div class=\"charts\">\n";
  for (const std::string &chart : charts)
    out += "<div>" + chart + "</div>\n";
  return out + "</div>\n";
}

} // namespace

std::string toHtml(const ReportContent &content) {
  std::string out = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<title>pe: positional encodings, trained</title>\n<style>" +
                    std::string(kStyle) + "</style></head><body>\n";
  out += "<h1>Positional encodings, compiled and trained</h1>\n<p>" + escapeXml(content.setup) +
         "</p>\n";
  out += table(content);
  out += "<p class=\"soft\">Bits per held-out character, lower is better; the same characters are "
         "scored in every column, only the context before them grows. Red: more than " +
         fixed(kVisiblyWorse, 2) + " above the first column.</p>\n";
  out += section("Beyond the trained length", "",
                 {toSvg(lengthChart(content)), toSvg(trainingChart(content))});
  std::vector<std::string> biases, maps;
  for (const LineChart &chart : content.biasCharts)
    biases.push_back(toSvg(chart));
  for (const Heatmap &map : content.heatmaps)
    maps.push_back(toSvg(map));
  if (!biases.empty())
    out += section("What the encodings learned",
                   "The bias of the first layer against distance, one line per head, seen from the "
                   "last query.",
                   biases);
  if (!maps.empty())
    out += section("Learned bias, query by key",
                   "Bias of causal pairs, first layer; each head has its own colours.", maps);
  out += "<h2>What this does not show</h2>\n<ul>\n";
  for (const std::string &limit : content.limits)
    out += "<li>" + escapeXml(limit) + "</li>\n";
  out += "</ul>\n<p class=\"soft\">Text: " + escapeXml(content.corpusDirectory) + ", " +
         thousands(content.corpusFiles) + " files, " + thousands(content.corpusBytes) +
         " bytes, sha256 <code>" + content.corpusSha256 + "</code>. " + fixed(content.seconds, 0) +
         " seconds on " + std::to_string(content.threads) + " threads.</p>\n</body></html>\n";
  return out;
}

std::string toJson(const ReportContent &content) {
  using Json = nlohmann::ordered_json;
  Json encodings = Json::object();
  for (const EncodingResult &result : content.results) {
    Json bits = Json::object();
    for (auto [length, value] : result.bitsPerChar)
      bits[std::to_string(length)] = value;
    encodings[result.name] = {{"encoding_params", result.encodingParams},
                              {"model_params", result.modelParams},
                              {"train_seconds", result.trainSeconds},
                              {"bits_per_char", bits}};
  }
  Json json = {{"corpus",
                {{"sha256", content.corpusSha256},
                 {"bytes", content.corpusBytes},
                 {"files", content.corpusFiles}}},
               {"seconds", content.seconds},
               {"encodings", encodings}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace pe::train
