//===- Heatmap.h - Matrices as standalone SVG -------------------*- C++ -*-===//
//
// Panels side by side, each a matrix of numbers as colours with a bar that explains them.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CHART_HEATMAP_H
#define PE_RUNTIME_CHART_HEATMAP_H

#include <string>
#include <vector>

namespace pe::chart {

struct HeatmapPanel {
  std::string title;
  /// Row 0 is drawn on top. A number that is not drawable leaves its cell empty.
  std::vector<std::vector<double>> rows;
};

struct Heatmap {
  std::string title, subtitle;
  std::string xLabel, yLabel;
  /// What the colours mean, with the unit.
  std::string valueLabel;
  std::vector<HeatmapPanel> panels;
  /// What column and row n stand for: first + step * n.
  double xFirst = 0, xStep = 1, yFirst = 0, yStep = 1;
  /// One range of colours for all panels.
  bool sharedColors = false;
  /// Pixels of a panel's matrix, and panels per row of them.
  double size = 150;
  int perRow = 4;
};

std::string toSvg(const Heatmap &map);

} // namespace pe::chart

#endif // PE_RUNTIME_CHART_HEATMAP_H
