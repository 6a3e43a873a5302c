//===- Axis.h - Scales and ticks of axes ------------------------*- C++ -*-===//
//
// Maps values to positions on an axis, chooses its ticks and formats their labels.
//
//   Scale x{.kind = Scale::Kind::Log2, .low = 1, .high = 8192, .from = 60, .to = 460};
//   x(64)                     // 244.6: pixels
//   x.ticks(50)               // 1, 2, 4 ... or fewer, at least 50 pixels apart
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CHART_AXIS_H
#define PE_RUNTIME_CHART_AXIS_H

#include <limits>
#include <string>
#include <vector>

namespace pe::chart {

/// Returns true if a chart can show the value: it is finite, and differences do not overflow.
inline bool isDrawable(double value) { return value >= -1e100 && value <= 1e100; }

/// The range of the drawable values that were added.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value);
  bool isEmpty() const { return low > high; }
  /// Extends the range if it is empty or contains only one value.
  void widen();
};

/// A map from values to pixels.
struct Scale {
  enum class Kind { Linear, Log2, Log10 };
  Kind kind = Kind::Linear;
  double low = 0, high = 1, from = 0, to = 1;

  double operator()(double value) const;
  /// Returns round values inside [low, high] whose positions are at least `gap` pixels apart.
  std::vector<double> ticks(double gap) const;
};

/// Returns about `count` round values inside [low, high], with a tolerance of a thousandth of a
/// step: multiples of 1, 2 or 5 times a power of ten. Empty unless low < high and both are finite.
std::vector<double> axisTicks(double low, double high, int count);

/// Formats a value with at most four digits: "0.05", "8192", "2.5e-6".
std::string formatNumber(double value);

/// Estimates the width of the text in pixels, in the font of the charts at `size` pixels.
double textWidth(const std::string &text, double size);

} // namespace pe::chart

#endif // PE_RUNTIME_CHART_AXIS_H
