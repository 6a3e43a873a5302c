//===- LineChart.h - Lines and points as standalone SVG ---------*- C++ -*-===//
//
// Draws axes with round tick values, one color per series, and labels at the line ends, which are
// moved apart if they would overlap.
//
//   LineChart chart{.title = "bias by distance", .xLabel = "distance", .yLabel = "logits"};
//   chart.series.push_back({"head 0", {{1, -0.5}, {2, -1.0}}});
//   toSvg(chart);
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CHART_LINECHART_H
#define PE_RUNTIME_CHART_LINECHART_H

#include "runtime/chart/Axis.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pe::chart {

enum class Marker { None, Circle, Square };

struct Series {
  /// The label, or empty for none.
  std::string name;
  /// Points that are not drawable interrupt the line; -inf is marked at the bottom of the frame.
  std::vector<std::pair<double, double>> points;
  /// The index of the color in the palette, or -1 for the index of the series.
  int color = -1;
  bool dashed = false, faint = false;
  /// Connects the points.
  bool line = true;
  Marker marker = Marker::None;
};

struct LineChart {
  std::string title, subtitle;
  std::string xLabel, yLabel;
  std::vector<Series> series;
  Scale::Kind x = Scale::Kind::Linear, y = Scale::Kind::Linear;
  /// On a logarithmic x axis, draws points at 0 to the left of the smallest positive x.
  bool zeroBesideLog = false;
  /// Values above it are clipped at the frame; 0 disables clipping.
  double yMax = 0;
  /// Values below it are clipped at the frame, and a triangle marks where a line leaves the frame.
  std::optional<double> yMin;
  /// Includes 0 in the y axis.
  bool showsZero = false;
  double width = 620, height = 340;
};

std::string toSvg(const LineChart &chart);

} // namespace pe::chart

#endif // PE_RUNTIME_CHART_LINECHART_H
