//===- LearnedBias.cpp - Plots of a trained bias --------------------------===//
#include "runtime/train/report/LearnedBias.h"

#include "runtime/chart/Axis.h"

#include <algorithm>
#include <cmath>

namespace pe::train {

bool LearnedBias::isZero() const {
  return std::all_of(rows.begin(), rows.end(), [](const std::vector<double> &row) {
    return std::all_of(row.begin(), row.end(),
                       [](double x) { return x == 0 || !chart::isDrawable(x); });
  });
}

/// NaN compares equal to NaN.
static bool isSame(const std::vector<double> &a, const std::vector<double> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

static bool isSame(const std::vector<std::vector<double>> &a,
                   const std::vector<std::vector<double>> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto &x, const auto &y) { return isSame(x, y); });
}

bool isSame(const LearnedBias &a, const LearnedBias &b) {
  return a.query == b.query && a.trainedLength == b.trainedLength && a.step == b.step &&
         isSame(a.rows, b.rows) &&
         std::equal(a.maps.begin(), a.maps.end(), b.maps.begin(), b.maps.end(),
                    [](const auto &x, const auto &y) { return isSame(x, y); });
}

static std::string headName(size_t head) { return "head " + std::to_string(head); }

/// Adds a dashed line at the trained length that spans the range of values.
static void markTrainedLength(int64_t length, chart::LineChart &chart) {
  double low = 0, high = 0;
  for (const chart::Series &series : chart.series)
    for (const auto &[distance, value] : series.points)
      if (chart::isDrawable(value))
        low = std::min(low, value), high = std::max(high, value);
  const double at = static_cast<double>(length);
  chart.series.push_back(
      {.name = "", .points = {{at, low}, {at, high}}, .dashed = true, .faint = true});
}

/// Returns true if some head favors far keys over near ones by more than a factor of e.
static bool growsWithDistance(const LearnedBias &bias) {
  return std::any_of(bias.rows.begin(), bias.rows.end(), [&](const std::vector<double> &row) {
    const auto end = row.begin() + bias.query + 1;
    const auto far = std::find_if(row.begin(), end, chart::isDrawable);
    const auto near = std::find_if(std::make_reverse_iterator(end), row.rend(), chart::isDrawable);
    return far != end && *far > *near + 1;
  });
}

chart::LineChart distanceChartOf(const std::string &name, const LearnedBias &bias) {
  chart::LineChart chart;
  chart.title = name + ": bias of layer 0 against distance";
  if (bias.trainedLength > 0)
    chart.subtitle = "dashed: the trained length";
  if (growsWithDistance(bias))
    chart.subtitle += std::string(chart.subtitle.empty() ? "" : "; ") +
                      "a head whose line rises prefers far keys to near ones";
  chart.xLabel = "distance (query - key)";
  chart.yLabel = "bias (logits)";
  for (size_t head = 0; head < bias.rows.size(); ++head) {
    chart::Series series{.name = headName(head)};
    const std::vector<double> &row = bias.rows[head];
    for (size_t key = row.size(); key-- > 0;)
      series.points.emplace_back(static_cast<double>(bias.query - static_cast<int64_t>(key)),
                                 row[key]);
    chart.series.push_back(std::move(series));
  }
  if (bias.trainedLength > 0)
    markTrainedLength(bias.trainedLength, chart);
  return chart;
}

chart::Heatmap mapOf(const std::string &name, const LearnedBias &bias) {
  chart::Heatmap map{.title = name + ": bias of layer 0",
                     .xLabel = "key",
                     .yLabel = "query",
                     .valueLabel = "bias (logits)"};
  map.colors = chart::HeatmapColors::Signed;
  map.xStep = map.yStep = static_cast<double>(bias.step);
  for (size_t head = 0; head < bias.maps.size(); ++head)
    map.panels.push_back({.title = headName(head), .rows = bias.maps[head]});
  return map;
}

} // namespace pe::train
