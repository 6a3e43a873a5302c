//===- LineChart.cpp - Lines and points as standalone SVG -----------------===//

#include "runtime/chart/LineChart.h"

#include "runtime/chart/ColorMap.h"
#include "runtime/chart/SvgWriter.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace pe::chart {
namespace {

constexpr double kBottom = 46, kLabelGap = kFontSize + 3, kTickGap = 14;

std::string colorOf(const LineChart &chart, size_t series) {
  const int chosen = chart.series[series].color;
  return std::string(lineColor(chosen < 0 ? series : static_cast<size_t>(chosen)));
}

bool isMinusInfinity(double value) { return std::isinf(value) && value < 0; }

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
  /// Computes the position of a point. Returns false if it cannot be shown.
  bool place(const std::pair<double, double> &point, double &x, double &y) const;
  std::string markerAt(const Series &series, const std::string &color, double x, double y) const;
  /// Returns the horizontal position of a value of the x axis.
  double acrossOf(double value) const { return x(hasZero && value == 0 ? zero : value); }
  bool hasPlace(double value) const {
    return isDrawable(value) &&
           (chart.x == Scale::Kind::Linear || value > 0 || (hasZero && value == 0));
  }
  void drawInfinities(SvgWriter &svg, size_t index) const;
  void drawClipMark(SvgWriter &svg, size_t index) const;

  const LineChart &chart;
  Scale x, y;
  bool hasZero = false;
  double zero = 0; // the value at whose position 0 is drawn on a logarithmic axis
  double height = 0, top = 0, labelRoom = 0;
  std::vector<std::string> subtitle;
};

void Drawing::findScales() {
  Range xs, ys;
  const bool logX = chart.x != Scale::Kind::Linear, logY = chart.y != Scale::Kind::Linear;
  for (const Series &series : chart.series)
    for (auto [px, py] : series.points) {
      const bool isShown = isDrawable(py) ? !logY || py > 0 : isMinusInfinity(py);
      if (!isDrawable(px) || !isShown)
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
  if (chart.showsZero)
    ys.add(0);
  widen(xs, logX);
  widen(ys, logY);
  zero = xs.low / 2;
  x = {.kind = chart.x, .low = hasZero ? zero : xs.low, .high = xs.high};
  const double high =
      chart.yMax > 0 && chart.yMax > ys.low ? std::min(ys.high, chart.yMax) : ys.high;
  const double low = chart.yMin && *chart.yMin < high ? std::max(ys.low, *chart.yMin) : ys.low;
  if (logY) {
    y = {.kind = chart.y, .low = low / 1.3, .high = high * 1.3};
  } else {
    const double margin = 0.05 * (high - low);
    y = {.kind = chart.y, .low = low - (low > ys.low ? 0 : margin), .high = high + margin};
  }
}

/// Computes the margins from the widths of labels.
void Drawing::placeAxes() {
  size_t named = 0;
  for (const Series &series : chart.series) {
    named += !series.name.empty();
    labelRoom = std::max(labelRoom, textWidth(series.name, kFontSize) + 30);
  }
  labelRoom = std::max(labelRoom, 24.0);
  // x.from is at most 90 here, because the ticks are not known yet.
  subtitle = wrapText(chart.subtitle, 10, std::max(chart.width - 90, 300.0));
  top = SvgWriter::topBelow(subtitle);
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
  if (!hasPlace(u) || !isDrawable(v) || (chart.y != Scale::Kind::Linear && !(v > 0)))
    return false;
  px = acrossOf(u);
  py = y(v);
  return true;
}

std::string Drawing::markerAt(const Series &series, const std::string &color, double px,
                              double py) const {
  if (series.marker == Marker::Square)
    return format("<rect x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\" fill-opacity=\"0\" "
                  "stroke-width=\"1.5\" stroke=\"%s\"/>\n",
                  px - 3, py - 3, color.c_str());
  return format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", px, py, color.c_str());
}

/// Draws a dashed line with crosses at its ends along the bottom of the frame where the series is
/// -inf.
void Drawing::drawInfinities(SvgWriter &svg, size_t index) const {
  const auto &points = chart.series[index].points;
  auto isHere = [&](size_t n) {
    return isMinusInfinity(points[n].second) && hasPlace(points[n].first);
  };
  std::string path;
  for (size_t begin = 0, end; begin < points.size(); begin = end) {
    end = begin + 1;
    if (!isHere(begin))
      continue;
    while (end < points.size() && isHere(end))
      ++end;
    const double from = acrossOf(points[begin].first), to = acrossOf(points[end - 1].first);
    path += format("M%.1f %.1fl6 -6m-6 0l6 6M%.1f %.1fH%.1f", from - 3, y.from - 1, from,
                   y.from - 4, to);
  }
  if (!path.empty())
    svg.raw("<path fill=\"none\" stroke-width=\"1.5\" stroke-dasharray=\"9 4\" stroke=\"" +
            colorOf(chart, index) + "\" d=\"" + path + "\"/>\n");
}

/// Draws a triangle where the line first leaves the frame through the bottom.
void Drawing::drawClipMark(SvgWriter &svg, size_t index) const {
  const Series &series = chart.series[index];
  double beforeX = 0, beforeY = 0, px = 0, py = 0;
  bool hasBefore = false;
  for (const auto &point : series.points) {
    const bool isPlaced = place(point, px, py);
    if (isPlaced && hasBefore && beforeY <= y.from && py > y.from) {
      const double at = beforeX + (px - beforeX) * (y.from - beforeY) / (py - beforeY);
      svg.raw(format("<path fill=\"%s\" d=\"M%.1f %.1fh9l-4.5 7z\"/>\n",
                     colorOf(chart, index).c_str(), at - 4.5, y.from - 4));
      return;
    }
    hasBefore = isPlaced;
    beforeX = px;
    beforeY = py;
  }
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
  drawInfinities(svg, index);
}

/// Draws labels at the line ends, in the order of the ends and at least one line of text apart.
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
    // A thin line connects the end with its label.
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
  SvgWriter svg(
      std::max({chart.width, x.to + labelRoom, x.from + textWidth(chart.title, 13.5) + 8}), height);
  svg.title(x.from, chart.title, subtitle);
  drawAxes(svg);
  // A nested svg element with the same coordinates clips lines at the frame.
  const double width = x.to - x.from + 8, tall = y.from - y.to + 8;
  svg.raw(format("<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                 "viewBox=\"%.1f %.1f %.1f %.1f\">\n",
                 x.from - 4, y.to - 4, width, tall, x.from - 4, y.to - 4, width, tall));
  for (size_t i = 0; i < chart.series.size(); ++i)
    drawSeries(svg, i);
  svg.raw("</svg>\n");
  for (size_t i = 0; i < chart.series.size(); ++i)
    drawClipMark(svg, i);
  drawLabels(svg);
  return svg.finish();
}

} // namespace

std::string toSvg(const LineChart &chart) { return Drawing(chart).draw(); }

} // namespace pe::chart
