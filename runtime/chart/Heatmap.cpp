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

/// The number of colors: small enough for short files, large enough to look continuous.
constexpr int kLevels = 64;
constexpr double kBar = 9, kBarGap = 7, kBarText = 36, kBarLabel = 12, kPanelTop = 20,
                 kPanelBottom = 24, kLeft = 26, kLegend = 16;
/// The minimum panel size; rows have fewer panels if they would be smaller.
constexpr double kSmallestPanel = 110;
constexpr const char *kInfinityColor = "#7d7d86";

/// The map from values to colors.
struct Coloring {
  Range range;
  bool isSigned = false;

  /// Returns a level from 0 to kLevels, relative to the range or to [-most(), most()].
  int levelOf(double value) const {
    const double low = isSigned ? -most() : range.low, high = isSigned ? most() : range.high;
    const double share = high > low ? (value - low) / (high - low) : 0.5;
    return std::clamp(static_cast<int>(std::lround(share * kLevels)), 0, kLevels);
  }
  std::string colorOf(int level) const {
    const double share = static_cast<double>(level) / kLevels;
    return hexOf(isSigned ? mapSignedColor(2 * share - 1) : mapColor(share));
  }

private:
  double most() const { return std::max(std::abs(range.low), std::abs(range.high)); }
};

class Drawing {
public:
  explicit Drawing(const Heatmap &map) : map(map) {}
  std::string draw();

private:
  void place();
  Range rangeOf(const HeatmapPanel &panel) const;
  bool isSigned() const;
  void drawPanel(SvgWriter &svg, const HeatmapPanel &panel, double left, double top);
  void drawCells(SvgWriter &svg, const HeatmapPanel &panel, const Coloring &coloring, double left,
                 double top);
  void drawBar(SvgWriter &svg, const Coloring &coloring, double left, double top);
  void drawTicks(SvgWriter &svg, const HeatmapPanel &panel, double left, double top);
  void drawLegend(SvgWriter &svg, double y);

  const Heatmap &map;
  double rowText = 0;
  /// The pixels of a matrix and of a panel with its bar, and the panels per row.
  double size = 0, panelWidth = 0;
  int columns = 1;
  bool hasEmpty = false, hasInfinity = false;
};

/// Returns true if the signed map is requested and the values of every panel are close enough to 0
/// compared with their range.
bool Drawing::isSigned() const {
  return map.colors == HeatmapColors::Signed && map.fullLabel.empty() &&
         std::all_of(map.panels.begin(), map.panels.end(), [&](const HeatmapPanel &panel) {
           const Range range = rangeOf(panel);
           const double gap = std::max(range.low, -range.high); // distance of the range from 0
           return range.isEmpty() || gap <= range.high - range.low ||
                  (range.low == range.high && gap <= 0);
         });
}

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

/// Draws one path per color, in which runs of equal cells are strokes with the height of a row.
void Drawing::drawCells(SvgWriter &svg, const HeatmapPanel &panel, const Coloring &coloring,
                        double left, double top) {
  constexpr int kEmpty = -1, kInfinity = -2;
  auto level = [&](double value) {
    if (isDrawable(value))
      return coloring.levelOf(value);
    return std::isinf(value) && value < 0 ? kInfinity : kEmpty;
  };
  std::map<int, std::string> paths;
  for (size_t i = 0; i < panel.rows.size(); ++i) {
    const std::vector<double> &row = panel.rows[i];
    for (size_t begin = 0, end; begin < row.size(); begin = end) {
      const int color = level(row[begin]);
      for (end = begin + 1; end < row.size() && level(row[end]) == color; ++end)
        ;
      if (color != kEmpty)
        paths[color] += format("M%zu %zu.5h%zu", begin, i, end - begin);
      hasEmpty |= color == kEmpty;
      hasInfinity |= color == kInfinity;
    }
  }
  const double rows = static_cast<double>(std::max<size_t>(panel.rows.size(), 1));
  svg.raw(format("<rect class=\"masked\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                 "fill=\"#d3d3d8\"/>\n",
                 left, top, size, size));
  svg.raw(format("<g class=\"cells\" transform=\"translate(%.1f %.1f) scale(%.6g %.6g)\" "
                 "shape-rendering=\"crispEdges\">\n",
                 left, top, size / static_cast<double>(columnsOf(panel)), size / rows));
  for (const auto &[color, path] : paths)
    svg.raw("<path stroke=\"" +
            (color == kInfinity ? std::string(kInfinityColor) : coloring.colorOf(color)) +
            "\" d=\"" + path + "\"/>\n");
  svg.raw("</g>\n");
  if (const auto [x, y] = map.outlined; x >= 0 && y >= 0) {
    const double cell = size / static_cast<double>(columnsOf(panel)), tall = size / rows;
    svg.raw(format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
                   "stroke=\"#000000\" stroke-width=\"1.5\"/>\n",
                   left + static_cast<double>(x) * cell, top + static_cast<double>(y) * tall, cell,
                   tall));
  }
}

/// Draws the color bar with its ticks and label.
void Drawing::drawBar(SvgWriter &svg, const Coloring &coloring, double left, double top) {
  const Range &range = coloring.range;
  if (range.isEmpty())
    return;
  const std::string small = "font-size=\"9\"";
  double textRoom = 0;
  if (range.low == range.high) { // one color
    svg.raw(format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
                   left, top, kBar, size, coloring.colorOf(coloring.levelOf(range.low)).c_str()));
    svg.text(left + kBar + 3, top + size / 2 + 3, formatNumber(range.low), Anchor::Start, small);
    textRoom = textWidth(formatNumber(range.low), 9);
  } else {
    const double height = size / kLevels;
    svg.raw("<g shape-rendering=\"crispEdges\">\n");
    for (int i = 0; i < kLevels; ++i) {
      const double value = range.low + (i + 0.5) / kLevels * (range.high - range.low);
      svg.raw(format("<rect x=\"%.1f\" y=\"%.2f\" width=\"%.1f\" height=\"%.2f\" fill=\"%s\"/>\n",
                     left, top + size - (i + 1) * height, kBar, height + 0.3,
                     coloring.colorOf(coloring.levelOf(value)).c_str()));
    }
    svg.raw("</g>\n");
    const Scale scale{.low = range.low, .high = range.high, .from = top + size, .to = top};
    for (double tick : scale.ticks(28)) {
      svg.line(left + kBar, scale(tick), left + kBar + 2, scale(tick), "axis");
      svg.text(left + kBar + 4, scale(tick) + 3, formatNumber(tick), Anchor::Start, small);
      textRoom = std::max(textRoom, textWidth(formatNumber(tick), 9));
    }
  }
  if (!map.valueLabel.empty())
    svg.textUpwards(left + kBar + textRoom + 14, top + size / 2, map.valueLabel, 9);
}

void Drawing::drawTicks(SvgWriter &svg, const HeatmapPanel &panel, double left, double top) {
  // The coordinate of a cell is at its center.
  auto scaleOf = [&](double first, double step, size_t count, double from, double to) {
    return Scale{.low = first - step / 2,
                 .high = first + step * (static_cast<double>(count) - 0.5),
                 .from = from,
                 .to = to};
  };
  auto each = [](const Scale &scale, double gap, auto use) {
    for (double tick : scale.ticks(gap))
      if (tick == std::floor(tick)) // rows and columns have integer coordinates
        use(scale(tick), formatNumber(tick));
  };
  const Scale x = scaleOf(map.xFirst, map.xStep, columnsOf(panel), left, left + size);
  const Scale y =
      scaleOf(map.yFirst, map.yStep, std::max<size_t>(panel.rows.size(), 1), top, top + size);
  each(x, textWidth(formatNumber(std::floor(x.high)), 9) + 14,
       [&](double at, const std::string &name) {
         svg.line(at, top + size, at, top + size + 3, "axis");
         svg.text(at, top + size + 13, name, Anchor::Middle, "font-size=\"9\"");
       });
  each(y, 24, [&](double at, const std::string &name) {
    svg.line(left - 3, at, left, at, "axis");
    svg.text(left - 5, at + 3, name, Anchor::End, "font-size=\"9\"");
  });
}

void Drawing::drawPanel(SvgWriter &svg, const HeatmapPanel &panel, double left, double top) {
  const Coloring coloring{rangeOf(panel), isSigned()};
  svg.text(left, top - 5, panel.title);
  drawCells(svg, panel, coloring, left, top);
  drawTicks(svg, panel, left, top);
  // With shared colors, only the last panel of a row has a color bar.
  const bool isLast =
      &panel == &map.panels.back() || (&panel - map.panels.data() + 1) % columns == 0;
  if (map.fullLabel.empty() && (!map.sharedColors || isLast))
    drawBar(svg, coloring, left + size + kBarGap, top);
}

/// Draws the legend of the neutral colors.
void Drawing::drawLegend(SvgWriter &svg, double y) {
  double x = kLeft + rowText + 10;
  auto entry = [&](const std::string &attributes, const std::string &name) {
    svg.raw(format("<rect x=\"%.1f\" y=\"%.1f\" width=\"9\" height=\"9\" ", x, y - 8) + attributes +
            "/>\n");
    svg.text(x + 13, y, name, Anchor::Start, "font-size=\"9\"");
    x += 13 + textWidth(name, 9) + 16;
  };
  if (!map.fullLabel.empty())
    entry("fill=\"" + hexOf(mapColor(0.5)) + "\"", map.fullLabel);
  if (hasEmpty && !map.emptyLabel.empty())
    entry("class=\"masked\" fill=\"#d3d3d8\"", map.emptyLabel);
  if (hasInfinity && !map.infinityLabel.empty())
    entry(std::string("fill=\"") + kInfinityColor + "\"", map.infinityLabel);
}

/// Computes the size of panels and the number of panels per row.
void Drawing::place() {
  for (const HeatmapPanel &panel : map.panels)
    rowText = std::max(
        rowText,
        textWidth(formatNumber(map.yFirst + map.yStep * static_cast<double>(panel.rows.size())),
                  9));
  const int count = static_cast<int>(map.panels.size());
  const double bar = kBarGap + kBar + kBarText + kBarLabel;
  const double around = rowText + 10 + (map.sharedColors ? 8 : bar);
  const double room = map.width - kLeft - (map.sharedColors ? bar : 0);
  columns = std::max(1, std::min(map.perRow, count));
  size = map.size;
  if (map.width > 0) {
    while (columns > 1 && room / columns - around < kSmallestPanel)
      --columns;
    size = std::min(size, room / columns - around);
  }
  panelWidth = around + size;
}

std::string Drawing::draw() {
  place();
  const int count = static_cast<int>(map.panels.size());
  const int rows = std::max(1, (count + columns - 1) / columns);
  const double words = map.width > 0 ? map.width - kLeft - 12 : 1e9;
  const std::vector<std::string> subtitle = wrapText(map.subtitle, 10, words);
  const double panelHeight = kPanelTop + size + kPanelBottom,
               top = SvgWriter::topBelow(subtitle) - 4;
  const bool hasLegend = !map.emptyLabel.empty();
  const double bar = map.sharedColors ? kBarGap + kBar + kBarText + kBarLabel : 0;
  double width = kLeft + columns * panelWidth + bar;
  for (const auto &[text, letters] : {std::pair(&map.title, 13.5), std::pair(&map.subtitle, 10.0)})
    width = std::max(width, kLeft + textWidth(*text, letters) + 12);
  width = map.width > 0 ? map.width : width;
  const double bottom = top + rows * panelHeight + 14;
  SvgWriter svg(width, bottom + 10 + (hasLegend ? kLegend : 0));
  svg.title(kLeft, map.title, subtitle);
  for (int n = 0; n < count; ++n)
    drawPanel(svg, map.panels[n], kLeft + (n % columns) * panelWidth + rowText + 10,
              top + static_cast<double>(n / columns) * panelHeight + kPanelTop);
  // Center the label below the matrices of a row.
  const double first = kLeft + rowText + 10;
  svg.text((first + first + (columns - 1) * panelWidth + size) / 2, bottom, map.xLabel,
           Anchor::Middle);
  if (hasLegend)
    drawLegend(svg, bottom + kLegend);
  svg.textUpwards(15, top + rows * panelHeight / 2, map.yLabel);
  return svg.finish();
}

} // namespace

std::string toSvg(const Heatmap &map) { return Drawing(map).draw(); }

} // namespace pe::chart
