//===- Svg.h - Charts as standalone SVG text --------------------*- C++ -*-===//
//
// Line charts and heatmaps without any library: axes with round numbers, one colour per series
// from a palette that colour-blind readers can tell apart, names at the line ends or in a legend.
// Colours of text and grid come from CSS variables with fallbacks, so a page can restyle them.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REPORT_SVG_H
#define PE_RUNTIME_TRAIN_REPORT_SVG_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pe::train {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct LineChart {
  std::string title;
  std::string xLabel, yLabel;
  std::vector<Series> series;
  /// Base 2 logarithmic x axis (x > 0).
  bool logX = false;
  /// Circles at the points.
  bool markers = false;
  /// Values above it are clipped at the frame; 0: no clipping.
  double yMax = 0;
  int width = 560, height = 320;
};

struct Heatmap {
  std::string title;
  std::string xLabel, yLabel;
  /// Row 0 is drawn on top. NaN cells stay empty.
  std::vector<std::vector<double>> rows;
  /// The coordinates of the first and last column and row.
  std::pair<double, double> xRange{0, 1}, yRange{0, 1};
  int width = 270, height = 270;
};

std::string toSvg(const LineChart &chart);
std::string toSvg(const Heatmap &map);

/// & < > and quotes as entities.
std::string escapeXml(std::string_view text);

/// The colour of series `index`.
std::string_view seriesColor(size_t index);

/// Round numbers that cover [low, high], about `count` of them.
std::vector<double> axisTicks(double low, double high, int count);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_REPORT_SVG_H
