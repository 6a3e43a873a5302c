//===- Heatmap.h - Matrices as standalone SVG -------------------*- C++ -*-===//
//
// Draws panels side by side. Each is a matrix of values as colors, with a color bar.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CHART_HEATMAP_H
#define PE_RUNTIME_CHART_HEATMAP_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pe::chart {

struct HeatmapPanel {
  std::string title;
  /// The values; row 0 is drawn at the top. Values that are not drawable have neutral colors: one
  /// for -inf, and the color of empty cells for the others.
  std::vector<std::vector<double>> rows;
};

/// The color map of a heatmap.
enum class HeatmapColors : uint8_t {
  /// Dark to light over the range of the values.
  Sequential,
  /// Blue below 0, near white at 0, red above. If all values are far from 0 compared with their
  /// differences, the sequential map is used, because their signed colors would look equal.
  Signed,
};

struct Heatmap {
  std::string title, subtitle;
  std::string xLabel, yLabel;
  /// The meaning of the colors, with the unit; written along every color bar.
  std::string valueLabel;
  std::vector<HeatmapPanel> panels;
  /// The coordinates of column and row n are first + step * n.
  double xFirst = 0, xStep = 1, yFirst = 0, yStep = 1;
  HeatmapColors colors = HeatmapColors::Sequential;
  /// Use one color range for all panels.
  bool sharedColors = false;
  /// If all nonempty cells have the same value: its meaning, which becomes a legend entry that
  /// replaces the color bars.
  std::string fullLabel;
  /// Legend entries of empty cells and of cells with -inf; without a label they have no entry.
  std::string emptyLabel, infinityLabel = "-inf";
  /// The cell (column, row) that is outlined in every panel, or negative for none.
  std::pair<int64_t, int64_t> outlined = {-1, -1};
  /// The maximum size of a panel's matrix in pixels, and the maximum number of panels per row.
  double size = 150;
  int perRow = 4;
  /// The width of the chart, to which panels and rows are fitted, or 0 for the width they need.
  double width = 0;
};

std::string toSvg(const Heatmap &map);

} // namespace pe::chart

#endif // PE_RUNTIME_CHART_HEATMAP_H
