//===- Report.cpp - The page about several runs ---------------------------===//
//
// HTML around the charts, and the results as JSON.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/report/Report.h"

#include "runtime/chart/SvgWriter.h"
#include "runtime/train/report/Table.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace pe::train {
namespace {

using chart::escapeXml;
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
.charts > .line { flex: 1 1 500px; max-width: 640px; }
.charts > .map { overflow-x: auto; } .map svg { max-width: none; }
svg { max-width: 100%; height: auto; } code { font-size: .9em; overflow-wrap: anywhere; }
.worse { color: #c0392b; } .wide { overflow-x: auto; } .wide td { white-space: nowrap; }
.claims td { text-align: left; }
svg .page { fill: var(--page); } svg .ink { fill: var(--ink); } svg .soft { fill: var(--soft); }
svg .axis { stroke: var(--ink); } svg .grid { stroke: var(--grid); }
svg .masked { fill: var(--grid); }
)css";

/// The difference to the shortest length above which a value counts as visibly worse.
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

/// Returns true if a value is visibly worse than that of the first column.
bool isWorse(const ReportContent &content, const EncodingResult &result, int64_t length) {
  const auto &values = shown(content.measure, result);
  const auto found = values.find(length);
  if (found == values.end() || content.measure == Measure::ForwardTime)
    return false;
  const double change = found->second - values.begin()->second;
  return (content.measure == Measure::Accuracy ? -change : change) > kVisiblyWorse;
}

std::string headerOf(const std::vector<int64_t> &lengths) {
  std::string out = "<div class=\"wide\"><table>\n<tr><th></th>";
  for (int64_t length : lengths)
    out += "<th>" + std::to_string(length) + "</th>";
  return out;
}

std::string table(const ReportContent &content) {
  const std::vector<int64_t> lengths = lengthsOf(content);
  const std::vector<std::string> more = moreColumnsOf(content);
  std::string out = headerOf(lengths);
  for (const std::string &column : more)
    out += "<th>" + escapeXml(column) + "</th>";
  out += "<th>encoding parameters</th><th>model parameters</th><th>seconds</th></tr>\n";
  for (const EncodingResult &result : content.results) {
    out += "<tr><td>" + escapeXml(result.name) + "</td>";
    for (int64_t length : lengths)
      out += (isWorse(content, result, length) ? "<td class=\"worse\">" : "<td>") +
             cellText(content.measure, result, length) + "</td>";
    for (const std::string &column : more)
      out += "<td>" + moreText(result, column) + "</td>";
    out += "<td>" + thousands(result.encodingParams) + "</td><td>" + thousands(result.modelParams) +
           "</td><td>" + fixed(result.trainSeconds, 1) + "</td></tr>\n";
  }
  return out + "</table></div>\n";
}

std::string marginTable(const ReportContent &content) {
  if (!hasMargins(content))
    return "";
  const std::vector<int64_t> lengths = lengthsOf(content);
  std::string out = "<h2>Margins</h2>\n<p class=\"soft\">" + escapeXml(marginCaptionOf(content)) +
                    "</p>\n" + headerOf(lengths) + "</tr>\n";
  for (const EncodingResult &result : content.results) {
    if (result.baseline.empty())
      continue;
    out += "<tr><td>" + escapeXml(marginLabelOf(content, result)) + "</td>";
    for (int64_t length : lengths) {
      const Margin margin = marginOf(content, result, length);
      out += margin.isNoise() ? "<td class=\"soft\">" : "<td>";
      out += (margin.seeds > 0 ? margin.text() : "") + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

std::string claimTable(const ReportContent &content) {
  if (content.claims.empty())
    return "";
  std::string caption = claimCaptionOf(content);
  caption[0] = 'C';
  std::string out = "<h2>" + escapeXml(caption) + "</h2>\n<table class=\"claims\">\n";
  for (const Claim &claim : content.claims) {
    const Margin margin = marginOf(content, claim);
    out += "<tr><td>" + escapeXml(claim.text) + "</td><td><b>" + textOf(judge(margin)) +
           "</b></td><td class=\"soft\">" +
           (margin.seeds > 0 ? escapeXml(numbersOf(claim, margin)) : "") + "</td></tr>\n";
  }
  return out + "</table>\n";
}

/// Returns the unit of the values.
std::string unitOf(const ReportContent &content) {
  switch (content.measure) {
  case Measure::Accuracy:
    return "share of correct answers";
  case Measure::ForwardTime:
    return "milliseconds";
  case Measure::Bits:
    break;
  }
  return "bits per " + content.unit;
}

/// Returns a height that has room for the names of all lines.
double heightOf(const LineChart &chart) {
  constexpr double kLine = 15, kAround = 70;
  return std::max(chart.height, kAround + kLine * static_cast<double>(chart.series.size()));
}

/// Limits the y axis, because outliers would compress all other values: cuts off values that are
/// more than three times as far from the minimum as the median.
void cutOutliers(LineChart &chart) {
  std::vector<double> values;
  for (const Series &series : chart.series)
    for (const auto &[x, y] : series.points)
      values.push_back(y);
  std::sort(values.begin(), values.end());
  const double low = values.empty() ? 0 : values.front();
  const double usual = values.empty() ? 0 : values[values.size() / 2] - low;
  if (usual <= 0 || values.back() <= low + 3 * usual)
    return;
  chart.yMax = low + 3 * usual;
  chart.subtitle = "values above " + fixed(chart.yMax, 2) + " are cut off; the table has them";
}

LineChart lengthChart(const ReportContent &content) {
  const std::string unit = unitOf(content);
  LineChart chart;
  chart.title = static_cast<char>(std::toupper(unit[0])) + unit.substr(1) + " by context length";
  chart.xLabel = (content.measure == Measure::Accuracy ? "tokens" : content.unit + "s") +
                 std::string(" of context");
  if (content.measure != Measure::ForwardTime)
    chart.xLabel += " (trained at " + std::to_string(content.trainedLength) + ")";
  chart.yLabel = unit;
  chart.x = chart::Scale::Kind::Log2;
  for (const EncodingResult &result : content.results) {
    Series series{.name = result.name, .marker = chart::Marker::Circle};
    for (auto [length, value] : shown(content.measure, result))
      series.points.emplace_back(static_cast<double>(length), value);
    chart.series.push_back(std::move(series));
  }
  if (content.measure == Measure::Bits)
    cutOutliers(chart);
  chart.height = heightOf(chart);
  return chart;
}

LineChart trainingChart(const ReportContent &content) {
  LineChart chart;
  chart.title = "Training loss";
  chart.xLabel = "step";
  chart.yLabel = content.measure == Measure::Accuracy ? "bits per answer (smoothed)"
                                                      : "bits per " + content.unit + " (smoothed)";
  for (const EncodingResult &result : content.results)
    if (!result.curve.empty())
      chart.series.push_back({.name = result.name, .points = result.curve});
  chart.height = heightOf(chart);
  return chart;
}

/// Plots runs with more than the final evaluation.
LineChart evaluationChart(const ReportContent &content) {
  LineChart chart;
  chart.title = content.measure == Measure::Accuracy ? "Correct answers between steps"
                                                     : "Held-out loss between steps";
  chart.xLabel = "step";
  chart.yLabel = unitOf(content) + " at the shortest length";
  for (const EncodingResult &result : content.results)
    if (result.evaluations.size() > 1)
      chart.series.push_back(
          {.name = result.name, .points = result.evaluations, .marker = chart::Marker::Circle});
  chart.height = heightOf(chart);
  return chart;
}

std::string legendOf(const ReportContent &content) {
  const std::string red = " Red: more than " + fixed(kVisiblyWorse, 2);
  switch (content.measure) {
  case Measure::Accuracy:
    return "The share of answers that the model finds most probable, higher is better; exercises "
           "grow with the column." +
           red + " below the first column.";
  case Measure::ForwardTime:
    return "Milliseconds of a forward pass of the entire model over one sequence of that length, "
           "the median of several calls; lower is better.";
  case Measure::Bits:
    break;
  }
  return "Bits per held-out " + content.unit + ", lower is better; the same " + content.unit +
         "s are scored in every column, and only the context before them grows." + red +
         " above the first column.";
}

/// Line charts are laid out in columns. Other charts have their natural width and scroll if
/// necessary.
std::string section(const std::string &title, const std::string &text,
                    const std::vector<std::string> &charts, bool areLines = true) {
  std::string out =
      "<h2>" + escapeXml(title) + "</h2>\n<p>" + text + "</p>\n<div class=\"charts\">\n";
  for (const std::string &chart : charts)
    out += (areLines ? "<div class=\"line\">" : "<div class=\"map\">") + chart + "</div>\n";
  return out + "</div>\n";
}

/// Plots the bias that each encoding learned. If several rows have the same bias, such as one
/// without learned parameters at several learning rates, only the first is plotted.
std::string biasSections(const ReportContent &content) {
  std::vector<const EncodingResult *> drawn;
  std::vector<std::string> charts, maps;
  for (const EncodingResult &result : content.results) {
    const LearnedBias &bias = result.bias;
    if (bias.isZero() || std::any_of(drawn.begin(), drawn.end(), [&](const EncodingResult *other) {
          return isSame(other->bias, bias);
        }))
      continue;
    drawn.push_back(&result);
    charts.push_back(toSvg(distanceChartOf(result.name, bias)));
    if (!bias.maps.empty())
      maps.push_back(toSvg(mapOf(result.name, bias)));
  }
  std::string out;
  if (!charts.empty())
    out += section("Learned bias by distance",
                   "The bias of the first layer against distance, one line per head, for the last "
                   "query of a text of twice the trained length (for one in the middle if queries "
                   "see later keys). A row whose bias equals that of an earlier row is omitted.",
                   charts);
  if (!maps.empty())
    out += section("Learned bias, query by key",
                   "The bias of the first layer, if it depends on more than the distance; each "
                   "head has its own color scale.",
                   maps, /*areLines=*/false);
  return out;
}

/// Describes the training data.
std::string dataOf(const ReportContent &content) {
  const std::string name = escapeXml(content.corpusDirectory);
  if (content.corpusSplit.empty())
    return "Data: <code>" + name + "</code>, generated.";
  return "Text: " + name + ", " + escapeXml(content.corpusSplit) + ", " +
         thousands(content.corpusBytes) + " bytes, sha256 <code>" + content.corpusSha256 +
         "</code>.";
}

} // namespace

std::string toHtml(const ReportContent &content) {
  std::string out = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<title>pe: positional encodings, trained</title>\n<style>" +
                    std::string(kStyle) + "</style></head><body>\n";
  out += "<h1>" + escapeXml(content.title) + "</h1>\n";
  if (!content.question.empty())
    out += "<p>" + escapeXml(content.question) + "</p>\n";
  out += "<p>" + escapeXml(content.setup) + "</p>\n";
  out += table(content);
  out += "<p class=\"soft\">" + legendOf(content) + "</p>\n";
  out += claimTable(content) + marginTable(content);
  std::vector<std::string> charts = {toSvg(lengthChart(content))};
  for (const LineChart &chart : {trainingChart(content), evaluationChart(content)})
    if (!chart.series.empty())
      charts.push_back(toSvg(chart));
  out += section("By length and by step", "", charts);
  out += biasSections(content);
  out += "<h2>What this does not show</h2>\n<ul>\n";
  for (const std::string &limit : content.limits)
    out += "<li>" + escapeXml(limit) + "</li>\n";
  out += "</ul>\n<p class=\"soft\">" + dataOf(content) + " " + fixed(content.seconds, 0) +
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
    Json &entry = encodings[result.name];
    auto add = [&](const char *name, const std::map<int64_t, double> &values) {
      for (auto [length, value] : values)
        entry[name][std::to_string(length)] = value;
    };
    add("accuracy", result.accuracy);
    if (result.seeds > 1) {
      entry["seeds"] = result.seeds;
      add("deviation", result.deviation);
      add("accuracy_deviation", result.accuracyDeviation);
    }
    if (result.evaluations.size() > 1)
      entry["evaluations"] = result.evaluations;
    add("milliseconds", result.milliseconds);
    for (const auto &[name, values] : result.more)
      entry["more"][name] = meanOf(values).first;
    if (result.baseline.empty())
      continue;
    entry["baseline"] = result.baseline;
    for (const auto &[length, values] : result.bySeed)
      if (const Margin margin = marginOf(content, result, length); margin.seeds > 0)
        entry["margin"][std::to_string(length)] = {
            {"mean", margin.mean}, {"error", margin.error}, {"noise", margin.isNoise()}};
  }
  Json json = {{"corpus",
                {{"sha256", content.corpusSha256},
                 {"bytes", content.corpusBytes},
                 {"files", content.corpusFiles}}},
               {"seconds", content.seconds},
               {"encodings", encodings}};
  for (const Claim &claim : content.claims) {
    const Margin margin = marginOf(content, claim);
    Json entry = {{"claim", claim.text}, {"verdict", textOf(judge(margin))}};
    if (margin.seeds > 0)
      entry["numbers"] = numbersOf(claim, margin);
    json["claims"].push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace pe::train
