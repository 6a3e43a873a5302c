//===- LineChart.h - Lines and points as standalone SVG ---------*- C++ -*-===//
//
// Axes with round numbers, a colour per series, names at the line ends, pushed apart where they
// would overlap.
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
  /// Empty: no label.
  std::string name;
  /// A point that is not drawable interrupts the line; -inf is marked at the lower end of the
  /// frame.
  std::vector<std::pair<double, double>> points;
  /// Of the palette; -1: the place in the chart.
  int color = -1;
  bool dashed = false, faint = false;
  /// Connect the points.
  bool line = true;
  Marker marker = Marker::None;
};

struct LineChart {
  std::string title, subtitle;
  std::string xLabel, yLabel;
  std::vector<Series> series;
  Scale::Kind x = Scale::Kind::Linear, y = Scale::Kind::Linear;
  /// With a logarithmic x axis, points at 0 have a place of their own left of the smallest other.
  bool zeroBesideLog = false;
  /// Values above it are clipped at the frame; 0: no clipping.
  double yMax = 0;
  /// Values below it are clipped at the frame, and a triangle marks where a line leaves it.
  std::optional<double> yMin;
  /// A linear y axis begins at 0, or ends there.
  bool showsZero = false;
  double width = 620, height = 340;
};

std::string toSvg(const LineChart &chart);

} // namespace pe::chart

#endif // PE_RUNTIME_CHART_LINECHART_H
