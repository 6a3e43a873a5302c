//===- LineChart.cpp - Lines and points as standalone SVG -----------------===//

#include "runtime/chart/LineChart.h"

#include "runtime/chart/ColorMap.h"
#include "runtime/chart/SvgWriter.h"

#include <algorithm>
#include <tuple>

namespace pe::chart {
namespace {

constexpr double kBottom = 46, kLabelGap = kFontSize + 3, kTickGap = 14;

std::string colorOf(const LineChart &chart, size_t series) {
  const int chosen = chart.series[series].color;
  return std::string(lineColor(chosen < 0 ? series : static_cast<size_t>(chosen)));
}

class Drawing {
public:
  explicit Drawing(const LineChart &chart) : chart(chart) {}
  std::string draw();

private:
  void findScales();
  void placeAxes();
  void drawAxes(SvgWriter &svg);
  void drawSeries(SvgWriter &svg, size_t index);
  void drawLabels(SvgWriter &svg);
  /// Whether the point has a place, at (x, y).
  bool place(const std::pair<double, double> &point, double &x, double &y) const;
  std::string markerAt(const Series &series, const std::string &color, double x, double y) const;

  const LineChart &chart;
  Scale x, y;
  bool hasZero = false;
  double zero = 0; // where 0 stands on a logarithmic axis
  double height = 0, top = 0, labelRoom = 0;
};

void Drawing::findScales() {
  Range xs, ys;
  const bool logX = chart.x != Scale::Kind::Linear, logY = chart.y != Scale::Kind::Linear;
  for (const Series &series : chart.series)
    for (auto [px, py] : series.points) {
      if (!isDrawable(px) || !isDrawable(py) || (logY && !(py > 0)))
        continue;
      hasZero |= logX && chart.zeroBesideLog && px == 0;
      if (!logX || px > 0)
        xs.add(px);
      ys.add(py);
    }
  auto widen = [](Range &range, bool isLog) {
    if (isLog && !range.isEmpty() && range.low == range.high) {
      range.low /= 2;
      range.high *= 2;
    } else if (isLog && range.isEmpty()) {
      range.low = 1;
      range.high = 10;
    } else {
      range.widen();
    }
  };
  widen(xs, logX);
  widen(ys, logY);
  zero = xs.low / 2;
  x = {.kind = chart.x, .low = hasZero ? zero : xs.low, .high = xs.high};
  const double high =
      chart.yMax > 0 && chart.yMax > ys.low ? std::min(ys.high, chart.yMax) : ys.high;
  if (logY) {
    y = {.kind = chart.y, .low = ys.low / 1.3, .high = high * 1.3};
  } else {
    const double margin = 0.05 * (high - ys.low);
    y = {.kind = chart.y, .low = ys.low - margin, .high = high + margin};
  }
}

/// Margins by the widths of labels.
void Drawing::placeAxes() {
  size_t named = 0;
  for (const Series &series : chart.series) {
    named += !series.name.empty();
    labelRoom = std::max(labelRoom, textWidth(series.name, kFontSize) + 30);
  }
  labelRoom = std::max(labelRoom, 24.0);
  top = chart.subtitle.empty() ? 32 : 46;
  height = std::max(chart.height, top + kBottom + static_cast<double>(named) * kLabelGap);
  y.from = height - kBottom;
  y.to = top;
  double widest = 0;
  for (double tick : y.ticks(3 * kTickGap))
    widest = std::max(widest, textWidth(formatNumber(tick), kFontSize));
  x.from = 30 + widest + 8;
  x.to = std::max(chart.width - labelRoom, x.from + 100);
}

void Drawing::drawAxes(SvgWriter &svg) {
  for (double tick : y.ticks(3 * kTickGap)) {
    svg.line(x.from, y(tick), x.to, y(tick), "grid");
    svg.text(x.from - 6, y(tick) + 4, formatNumber(tick), Anchor::End);
  }
  auto tickAt = [&](double value, const std::string &name) {
    svg.line(x(value), y.from, x(value), y.from + 4, "axis");
    svg.text(x(value), y.from + 17, name, Anchor::Middle);
  };
  if (hasZero)
    tickAt(zero, "0");
  double widest = 0;
  for (double tick : x.ticks(40))
    widest = std::max(widest, textWidth(formatNumber(tick), kFontSize));
  for (double tick : x.ticks(std::max(40.0, widest + 14)))
    if (!hasZero || tick > 1.5 * zero)
      tickAt(tick, formatNumber(tick));
  svg.line(x.from, y.from, x.to, y.from, "axis");
  svg.line(x.from, y.from, x.from, y.to, "axis");
  svg.text((x.from + x.to) / 2, y.from + 37, chart.xLabel, Anchor::Middle);
  svg.textUpwards(16, (y.from + y.to) / 2, chart.yLabel);
}

bool Drawing::place(const std::pair<double, double> &point, double &px, double &py) const {
  const auto [u, v] = point;
  const bool atZero = hasZero && u == 0;
  if (!isDrawable(u) || !isDrawable(v) || (chart.y != Scale::Kind::Linear && !(v > 0)) ||
      (chart.x != Scale::Kind::Linear && !(u > 0) && !atZero))
    return false;
  px = x(atZero ? zero : u);
  py = y(v);
  return true;
}

std::string Drawing::markerAt(const Series &series, const std::string &color, double px,
                              double py) const {
  if (series.marker == Marker::Square)
    return format("<rect x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\" fill=\"#ffffff\" "
                  "stroke-width=\"1.5\" stroke=\"%s\"/>\n",
                  px - 3, py - 3, color.c_str());
  return format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", px, py, color.c_str());
}

void Drawing::drawSeries(SvgWriter &svg, size_t index) {
  const Series &series = chart.series[index];
  const std::string color = colorOf(chart, index);
  const bool isDashed = series.dashed || (series.color < 0 && index >= kLineColors);
  std::string path, markers;
  bool isOpen = false;
  for (const auto &point : series.points) {
    double px, py;
    if (!place(point, px, py)) {
      isOpen = false;
      continue;
    }
    const bool atZero = hasZero && point.first == 0;
    if (series.marker != Marker::None || atZero)
      markers += markerAt(series, color, px, py);
    path += atZero ? "" : format("%s%.1f %.1f", isOpen ? "L" : "M", px, py);
    isOpen = !atZero;
  }
  if (series.line && !path.empty())
    svg.raw(format("<path class=\"line\" fill=\"none\" stroke-width=\"%s\" "
                   "stroke-linejoin=\"round\"%s stroke=\"%s\"%s d=\"",
                   series.faint ? "1" : "2", isDashed ? " stroke-dasharray=\"5 3\"" : "",
                   color.c_str(), series.faint ? " stroke-opacity=\"0.35\"" : "") +
            path + "\"/>\n");
  svg.raw(markers);
}

/// Names at the line ends, in the order of the ends, each no nearer to the next than a line of
/// text.
void Drawing::drawLabels(SvgWriter &svg) {
  struct Label {
    size_t series;
    double x, end, y;
  };
  std::vector<Label> labels;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    double px = 0, py = 0;
    bool any = false;
    for (const auto &point : chart.series[i].points)
      any |= place(point, px, py);
    py = std::clamp(py, y.to, y.from);
    if (any && !chart.series[i].name.empty())
      labels.push_back({i, px, py, py});
  }
  std::sort(labels.begin(), labels.end(), [](const Label &a, const Label &b) {
    return std::tie(a.y, a.series) < std::tie(b.y, b.series);
  });
  for (size_t i = 1; i < labels.size(); ++i)
    labels[i].y = std::max(labels[i].y, labels[i - 1].y + kLabelGap);
  double limit = y.from;
  for (size_t i = labels.size(); i-- > 0; limit = labels[i].y - kLabelGap)
    labels[i].y = std::min(labels[i].y, limit);
  for (const Label &label : labels) {
    const std::string color = colorOf(chart, label.series);
    // A thin line leads from the end to its name.
    svg.raw(format("<path fill=\"none\" stroke=\"%s\" stroke-opacity=\"0.5\" "
                   "d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
                   color.c_str(), std::min(label.x + 4, x.to + 4), label.end, x.to + 18, label.y));
    svg.text(x.to + 21, label.y + 4, chart.series[label.series].name, Anchor::Start,
             "fill=\"" + color + "\" font-weight=\"600\"");
  }
}

std::string Drawing::draw() {
  findScales();
  placeAxes();
  const double words = std::max(textWidth(chart.title, 13.5), textWidth(chart.subtitle, 10));
  SvgWriter svg(std::max({chart.width, x.to + labelRoom, x.from + words + 8}), height);
  svg.title(x.from, chart.title, chart.subtitle);
  drawAxes(svg);
  // A nested drawing with the same coordinates clips lines at the frame.
  const double width = x.to - x.from + 8, tall = y.from - y.to + 8;
  svg.raw(format("<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                 "viewBox=\"%.1f %.1f %.1f %.1f\">\n",
                 x.from - 4, y.to - 4, width, tall, x.from - 4, y.to - 4, width, tall));
  for (size_t i = 0; i < chart.series.size(); ++i)
    drawSeries(svg, i);
  svg.raw("</svg>\n");
  drawLabels(svg);
  return svg.finish();
}

} // namespace

std::string toSvg(const LineChart &chart) { return Drawing(chart).draw(); }

} // namespace pe::chart
