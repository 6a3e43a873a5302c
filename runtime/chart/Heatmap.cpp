//===- Heatmap.cpp - Matrices as standalone SVG ---------------------------===//

#include "runtime/chart/Heatmap.h"

#include "runtime/chart/Axis.h"
#include "runtime/chart/ColorMap.h"
#include "runtime/chart/SvgWriter.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace pe::chart {
namespace {

/// Colours in the picture: few enough for short files, too many to be seen as steps.
constexpr int kLevels = 64;
constexpr double kBar = 9, kBarGap = 7, kBarText = 46, kPanelTop = 20, kPanelBottom = 24;

class Drawing {
public:
  explicit Drawing(const Heatmap &map) : map(map) {}
  std::string draw();

private:
  Range rangeOf(const HeatmapPanel &panel) const;
  void drawPanel(SvgWriter &svg, const HeatmapPanel &panel, double left, double top);
  void drawCells(SvgWriter &svg, const HeatmapPanel &panel, const Range &range, double left,
                 double top);
  void drawBar(SvgWriter &svg, const Range &range, double left, double top);
  void drawTicks(SvgWriter &svg, const HeatmapPanel &panel, double left, double top);

  const Heatmap &map;
  double rowText = 0;
};

Range Drawing::rangeOf(const HeatmapPanel &panel) const {
  Range range;
  auto add = [&](const HeatmapPanel &other) {
    for (const std::vector<double> &row : other.rows)
      for (double value : row)
        range.add(value);
  };
  if (map.sharedColors)
    for (const HeatmapPanel &other : map.panels)
      add(other);
  else
    add(panel);
  return range;
}

size_t columnsOf(const HeatmapPanel &panel) {
  size_t columns = 1;
  for (const std::vector<double> &row : panel.rows)
    columns = std::max(columns, row.size());
  return columns;
}

/// One path per colour: runs of equal cells as strokes one row thick.
void Drawing::drawCells(SvgWriter &svg, const HeatmapPanel &panel, const Range &range, double left,
                        double top) {
  auto level = [&](double value) {
    if (!isDrawable(value))
      return -1;
    const double share =
        range.high > range.low ? (value - range.low) / (range.high - range.low) : 0.5;
    return std::clamp(static_cast<int>(std::lround(share * kLevels)), 0, kLevels);
  };
  std::map<int, std::string> paths;
  for (size_t i = 0; i < panel.rows.size(); ++i) {
    const std::vector<double> &row = panel.rows[i];
    for (size_t begin = 0, end; begin < row.size(); begin = end) {
      const int color = level(row[begin]);
      for (end = begin + 1; end < row.size() && level(row[end]) == color; ++end)
        ;
      if (color >= 0)
        paths[color] += format("M%zu %zu.5h%zu", begin, i, end - begin);
    }
  }
  const double rows = static_cast<double>(std::max<size_t>(panel.rows.size(), 1));
  svg.raw(format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                 "fill=\"#888\" fill-opacity=\"0.13\"/>\n",
                 left, top, map.size, map.size));
  svg.raw(format("<g class=\"cells\" transform=\"translate(%.1f %.1f) scale(%.6g %.6g)\" "
                 "shape-rendering=\"crispEdges\">\n",
                 left, top, map.size / static_cast<double>(columnsOf(panel)), map.size / rows));
  for (const auto &[color, path] : paths)
    svg.raw("<path stroke=\"" + hexOf(mapColor(static_cast<double>(color) / kLevels)) + "\" d=\"" +
            path + "\"/>\n");
  svg.raw("</g>\n");
}

void Drawing::drawBar(SvgWriter &svg, const Range &range, double left, double top) {
  if (range.isEmpty())
    return;
  if (range.low == range.high) { // one colour, that of the middle
    svg.raw(format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
                   left, top, kBar, map.size, hexOf(mapColor(0.5)).c_str()));
    svg.text(left + kBar + 3, top + map.size / 2 + 3, formatNumber(range.low), Anchor::Start,
             "font-size=\"9\"");
    return;
  }
  const double height = map.size / kLevels;
  svg.raw("<g shape-rendering=\"crispEdges\">\n");
  for (int i = 0; i < kLevels; ++i)
    svg.raw(format("<rect x=\"%.1f\" y=\"%.2f\" width=\"%.1f\" height=\"%.2f\" fill=\"%s\"/>\n",
                   left, top + map.size - (i + 1) * height, kBar, height + 0.3,
                   hexOf(mapColor((i + 0.5) / kLevels)).c_str()));
  svg.raw("</g>\n");
  const Scale scale{.low = range.low, .high = range.high, .from = top + map.size, .to = top};
  for (double tick : scale.ticks(28)) {
    svg.line(left + kBar, scale(tick), left + kBar + 2, scale(tick), "axis");
    svg.text(left + kBar + 4, scale(tick) + 3, formatNumber(tick), Anchor::Start,
             "font-size=\"9\"");
  }
}

void Drawing::drawTicks(SvgWriter &svg, const HeatmapPanel &panel, double left, double top) {
  // A cell's number belongs to its middle.
  auto scaleOf = [&](double first, double step, size_t count, double from, double to) {
    return Scale{.low = first - step / 2,
                 .high = first + step * (static_cast<double>(count) - 0.5),
                 .from = from,
                 .to = to};
  };
  auto each = [](const Scale &scale, double gap, auto use) {
    for (double tick : scale.ticks(gap))
      if (tick == std::floor(tick)) // rows and columns are whole numbers
        use(scale(tick), formatNumber(tick));
  };
  const Scale x = scaleOf(map.xFirst, map.xStep, columnsOf(panel), left, left + map.size);
  const Scale y =
      scaleOf(map.yFirst, map.yStep, std::max<size_t>(panel.rows.size(), 1), top, top + map.size);
  each(x, textWidth(formatNumber(std::floor(x.high)), 9) + 14,
       [&](double at, const std::string &name) {
         svg.line(at, top + map.size, at, top + map.size + 3, "axis");
         svg.text(at, top + map.size + 13, name, Anchor::Middle, "font-size=\"9\"");
       });
  each(y, 24, [&](double at, const std::string &name) {
    svg.line(left - 3, at, left, at, "axis");
    svg.text(left - 5, at + 3, name, Anchor::End, "font-size=\"9\"");
  });
}

void Drawing::drawPanel(SvgWriter &svg, const HeatmapPanel &panel, double left, double top) {
  const Range range = rangeOf(panel);
  svg.text(left, top - 5, panel.title);
  drawCells(svg, panel, range, left, top);
  drawTicks(svg, panel, left, top);
  drawBar(svg, range, left + map.size + kBarGap, top);
}

std::string Drawing::draw() {
  const int count = static_cast<int>(map.panels.size());
  const int columns = std::max(1, std::min(map.perRow, count));
  const int rows = std::max(1, (count + columns - 1) / columns);
  for (const HeatmapPanel &panel : map.panels)
    rowText = std::max(
        rowText,
        textWidth(formatNumber(map.yFirst + map.yStep * static_cast<double>(panel.rows.size())),
                  9));
  const double left = 26, top = map.subtitle.empty() ? 28 : 42, bottom = 24;
  const double panelWidth = rowText + 10 + map.size + kBarGap + kBar + kBarText;
  const double panelHeight = kPanelTop + map.size + kPanelBottom;
  double width = left + columns * panelWidth;
  for (const auto &[text, size] : {std::pair(&map.title, 13.5), std::pair(&map.subtitle, 10.0)})
    width = std::max(width, left + textWidth(*text, size) + 12);
  const double height = top + rows * panelHeight + bottom;
  SvgWriter svg(width, height);
  svg.title(left, map.title, map.subtitle);
  for (int n = 0; n < count; ++n)
    drawPanel(svg, map.panels[n], left + (n % columns) * panelWidth + rowText + 10,
              top + (n / columns) * panelHeight + kPanelTop);
  std::string legend = map.xLabel;
  if (!map.valueLabel.empty())
    legend += "   (colour: " + map.valueLabel + ")";
  svg.text(left + columns * panelWidth / 2, height - 10, legend, Anchor::Middle);
  svg.textUpwards(15, top + rows * panelHeight / 2, map.yLabel);
  return svg.finish();
}

} // namespace

std::string toSvg(const Heatmap &map) { return Drawing(map).draw(); }

} // namespace pe::chart
