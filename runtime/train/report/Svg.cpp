//===- Svg.cpp - Charts as standalone SVG text ----------------------------===//
//
// Scales, axes, lines with labels that do not overlap, cells of a heatmap.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/report/Svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace pe::train {
namespace {

/// Okabe and Ito's palette, with a darker yellow that is visible on white.
constexpr std::array<std::string_view, 8> kColors = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#56b4e9", "#e69f00", "#7f7f7f", "#8b5a2b"};

constexpr double kLeft = 58, kTop = 34, kBottom = 44, kLabelRoom = 118;
constexpr double kFontSize = 11;

template <typename... Arguments> std::string format(const char *pattern, Arguments... arguments) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, arguments...);
  return text;
}

std::string number(double value) {
  return std::abs(value) >= 10000 || (value != 0 && std::abs(value) < 1e-3)
             ? format("%.1e", value)
             : format("%.4g", value == 0 ? 0.0 : value);
}

std::string text(double x, double y, std::string_view content, std::string_view anchor,
                 std::string_view extra = "") {
  return format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%.*s\" ", x, y,
                static_cast<int>(anchor.size()), anchor.data()) +
         std::string(extra) + ">" + escapeXml(content) + "</text>\n";
}

std::string open(int width, int height) {
  return format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                "height=\"%d\" font-family=\"system-ui, sans-serif\" font-size=\"%.0f\" "
                "fill=\"var(--ink, #222)\">\n",
                width, height, width, height, kFontSize);
}

/// A value axis mapped to pixels.
struct Scale {
  double low, high, from, to;
  bool logarithmic = false;

  double operator()(double value) const {
    double a = low, b = high;
    if (logarithmic) {
      a = std::log2(a);
      b = std::log2(b);
      value = std::log2(value);
    }
    return from + (to - from) * (value - a) / (b - a);
  }
};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (!std::isfinite(value))
      return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  void widen() {
    if (empty()) {
      low = 0;
      high = 1;
    } else if (low == high) {
      low -= 0.5;
      high += 0.5;
    }
  }
};

/// Grid, ticks and labels of both axes.
std::string axes(const LineChart &chart, const Scale &x, const Scale &y,
                 const std::vector<double> &xTicks) {
  std::string out;
  for (double tick : axisTicks(y.low, y.high, 5)) {
    if (tick < y.low - 1e-9 || tick > y.high + 1e-9)
      continue;
    out += format("<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
                  "stroke=\"var(--grid, #ddd)\"/>\n",
                  x.from, x.to, y(tick), y(tick));
    out += text(x.from - 6, y(tick) + 4, number(tick), "end");
  }
  for (double tick : xTicks) {
    out += format("<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
                  "stroke=\"var(--ink, #222)\"/>\n",
                  x(tick), x(tick), y.from, y.from + 4);
    out += text(x(tick), y.from + 17, number(tick), "middle");
  }
  out += format("<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
                "stroke=\"var(--ink, #222)\"/>\n",
                x.from, x.to, y.from, y.from);
  out += text((x.from + x.to) / 2, y.from + 36, chart.xLabel, "middle");
  out += text(0, 0, chart.yLabel, "middle",
              format("transform=\"translate(14 %.1f) rotate(-90)\"", (y.from + y.to) / 2));
  return out;
}

std::string line(const Series &series, std::string_view color, const Scale &x, const Scale &y,
                 bool markers) {
  std::string points, circles;
  for (auto [px, py] : series.points) {
    if (!std::isfinite(py))
      continue;
    points += format("%.1f,%.1f ", x(px), y(py));
    if (markers)
      circles += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%.*s\"/>\n", x(px), y(py),
                        static_cast<int>(color.size()), color.data());
  }
  return format("<polyline fill=\"none\" stroke-width=\"2\" stroke-linejoin=\"round\" "
                "stroke=\"%.*s\" points=\"",
                static_cast<int>(color.size()), color.data()) +
         points + "\"/>\n" + circles;
}

/// Names at the line ends, pushed apart where they would overlap.
std::string endLabels(const LineChart &chart, const Scale &x, const Scale &y) {
  struct Label {
    size_t series;
    double y;
  };
  std::vector<Label> labels;
  for (size_t i = 0; i < chart.series.size(); ++i)
    if (!chart.series[i].points.empty())
      labels.push_back({i, std::clamp(y(chart.series[i].points.back().second), y.to, y.from)});
  std::sort(labels.begin(), labels.end(), [](const Label &a, const Label &b) { return a.y < b.y; });
  constexpr double gap = kFontSize + 2;
  for (size_t i = 1; i < labels.size(); ++i)
    labels[i].y = std::max(labels[i].y, labels[i - 1].y + gap);
  // Push labels that left the chart at the bottom back up.
  double limit = y.from;
  for (size_t i = labels.size(); i-- > 0; limit = labels[i].y - gap)
    labels[i].y = std::min(labels[i].y, limit);
  std::string out;
  for (const Label &label : labels)
    out += text(x.to + 8, label.y + 4, chart.series[label.series].name, "start",
                "fill=\"" + std::string(seriesColor(label.series)) + "\" font-weight=\"600\"");
  return out;
}

/// Dark blue over green to yellow (close to "viridis").
std::string heatColor(double fraction) {
  constexpr std::array<std::array<double, 3>, 5> stops = {
      {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};
  double position = std::clamp(fraction, 0.0, 1.0) * (stops.size() - 1);
  size_t index = std::min<size_t>(static_cast<size_t>(position), stops.size() - 2);
  double rest = position - static_cast<double>(index);
  std::array<int, 3> rgb{};
  for (size_t c = 0; c < rgb.size(); ++c)
    rgb[c] = static_cast<int>(
        std::lround(stops[index][c] + rest * (stops[index + 1][c] - stops[index][c])));
  return format("#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
}

constexpr int kHeatLevels = 48;

/// The cells of one row; adjacent cells of one colour become one rectangle.
std::string heatRow(const std::vector<double> &row, const Range &range, double x0, double y,
                    double cellWidth, double cellHeight) {
  std::string out;
  auto level = [&](size_t j) {
    return std::isfinite(row[j])
               ? static_cast<int>(
                     std::lround((row[j] - range.low) / (range.high - range.low) * kHeatLevels))
               : -1;
  };
  for (size_t begin = 0, end; begin < row.size(); begin = end) {
    for (end = begin + 1; end < row.size() && level(end) == level(begin); ++end)
      ;
    if (level(begin) < 0)
      continue;
    // A little overlap hides the seams of antialiasing.
    out += format("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n",
                  x0 + static_cast<double>(begin) * cellWidth, y,
                  static_cast<double>(end - begin) * cellWidth + 0.3, cellHeight + 0.3,
                  heatColor(static_cast<double>(level(begin)) / kHeatLevels).c_str());
  }
  return out;
}

} // namespace

std::string escapeXml(std::string_view text) {
  std::string out;
  for (char c : text)
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  return out;
}

std::string_view seriesColor(size_t index) { return kColors[index % kColors.size()]; }

std::vector<double> axisTicks(double low, double high, int count) {
  double raw = (high - low) / count;
  double power = std::pow(10, std::floor(std::log10(raw)));
  double step = power;
  for (double factor : {1.0, 2.0, 5.0, 10.0}) {
    step = factor * power;
    if (step >= raw)
      break;
  }
  std::vector<double> ticks;
  for (double tick = std::ceil(low / step - 1e-9) * step; tick <= high + 1e-9 * step; tick += step)
    ticks.push_back(std::abs(tick) < 1e-9 * step ? 0 : tick);
  return ticks;
}

std::string toSvg(const LineChart &chart) {
  Range xRange, yRange;
  for (const Series &series : chart.series)
    for (auto [px, py] : series.points) {
      xRange.add(px);
      yRange.add(py);
    }
  xRange.widen();
  yRange.widen();
  double margin = 0.05 * (yRange.high - yRange.low);
  double top = chart.yMax > 0 ? std::min(yRange.high, chart.yMax) : yRange.high;
  Scale x{xRange.low, xRange.high, kLeft, chart.width - kLabelRoom, chart.logX};
  Scale y{yRange.low - margin, top + margin, chart.height - kBottom, kTop};
  std::vector<double> xTicks;
  if (chart.logX)
    for (double tick = std::exp2(std::ceil(std::log2(xRange.low))); tick <= xRange.high; tick *= 2)
      xTicks.push_back(tick);
  else
    xTicks = axisTicks(x.low, x.high, 6);

  std::string out = open(chart.width, chart.height);
  out += text(kLeft, 18, chart.title, "start", "font-size=\"13\" font-weight=\"600\"");
  out += axes(chart, x, y, xTicks);
  // A nested drawing with the same coordinates clips lines at the frame.
  double width = x.to - x.from + 8, height = y.from - y.to + 8;
  out += format("<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                "viewBox=\"%.1f %.1f %.1f %.1f\">\n",
                x.from - 4, y.to - 4, width, height, x.from - 4, y.to - 4, width, height);
  for (size_t i = 0; i < chart.series.size(); ++i)
    out += line(chart.series[i], seriesColor(i), x, y, chart.markers);
  return out + "</svg>\n" + endLabels(chart, x, y) + "</svg>\n";
}

std::string toSvg(const Heatmap &map) {
  Range range;
  for (const std::vector<double> &row : map.rows)
    for (double value : row)
      range.add(value);
  range.widen();
  double barWidth = 12, right = map.width - 62.0;
  double left = kLeft, top = kTop, bottom = map.height - kBottom;
  std::string out = open(map.width, map.height);
  out += text(left, 18, map.title, "start", "font-size=\"13\" font-weight=\"600\"");
  out += "<g shape-rendering=\"crispEdges\">\n";
  double cellHeight = (bottom - top) / static_cast<double>(std::max<size_t>(map.rows.size(), 1));
  for (size_t i = 0; i < map.rows.size(); ++i)
    out += heatRow(map.rows[i], range, left, top + static_cast<double>(i) * cellHeight,
                   (right - left) / static_cast<double>(std::max<size_t>(map.rows[i].size(), 1)),
                   cellHeight);
  for (int i = 0; i < kHeatLevels; ++i) {
    double height = (bottom - top) / kHeatLevels;
    out += format("<rect x=\"%.1f\" y=\"%.2f\" width=\"%.1f\" height=\"%.2f\" fill=\"%s\"/>\n",
                  right + 10, bottom - (i + 1) * height, barWidth, height + 0.3,
                  heatColor((i + 0.5) / kHeatLevels).c_str());
  }
  out += "</g>\n";
  out += text(right + 10 + barWidth + 4, bottom, number(range.low), "start");
  out += text(right + 10 + barWidth + 4, top + 9, number(range.high), "start");
  out += text(left, bottom + 15, number(map.xRange.first), "middle");
  out += text(right, bottom + 15, number(map.xRange.second), "middle");
  out += text((left + right) / 2, bottom + 30, map.xLabel, "middle");
  out += text(left - 6, top + 9, number(map.yRange.first), "end");
  out += text(left - 6, bottom, number(map.yRange.second), "end");
  out += text(0, 0, map.yLabel, "middle",
              format("transform=\"translate(14 %.1f) rotate(-90)\"", (top + bottom) / 2));
  return out + "</svg>\n";
}

} // namespace pe::train
