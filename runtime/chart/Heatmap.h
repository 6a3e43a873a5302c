//===- Heatmap.h - Matrices as standalone SVG -------------------*- C++ -*-===//
//
// Panels side by side, each a matrix of numbers as colours with a bar that explains them.
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
  /// Row 0 is drawn on top. A number that is not drawable has a neutral colour: -inf one of its
  /// own, others that of empty cells.
  std::vector<std::vector<double>> rows;
};

/// Which colours numbers have.
enum class HeatmapColors : uint8_t {
  /// Dark to light over the range of the numbers.
  Sequential,
  /// Blue below 0, near white at 0, red above. Numbers that are all far from 0, compared with their
  /// differences, are sequential all the same: around 0 they would look equal.
  Signed,
};

struct Heatmap {
  std::string title, subtitle;
  std::string xLabel, yLabel;
  /// What the colours mean, with the unit; written along every bar.
  std::string valueLabel;
  std::vector<HeatmapPanel> panels;
  /// What column and row n stand for: first + step * n.
  double xFirst = 0, xStep = 1, yFirst = 0, yStep = 1;
  HeatmapColors colors = HeatmapColors::Sequential;
  /// One range of colours for all panels.
  bool sharedColors = false;
  /// Of cells that all have one number: what it means, an entry of the legend in place of bars.
  std::string fullLabel;
  /// What empty cells and cells of -inf are, for the legend; without a name they have no entry.
  std::string emptyLabel, infinityLabel = "-inf";
  /// The cell (column, row) that is outlined in every panel; none: negative.
  std::pair<int64_t, int64_t> outlined = {-1, -1};
  /// Pixels of a panel's matrix, at most, and panels per row of them.
  double size = 150;
  int perRow = 4;
  /// Of the picture: panels are made smaller, and rows of them shorter, to fit. 0: what it needs.
  double width = 0;
};

std::string toSvg(const Heatmap &map);

} // namespace pe::chart

#endif // PE_RUNTIME_CHART_HEATMAP_H
