//===- Axis.h - Numbers along an axis ---------------------------*- C++ -*-===//
//
// Where values lie on an axis, which ones it names, and how a number is written there.
//
//   Scale x{.kind = Scale::Kind::Log2, .low = 1, .high = 8192, .from = 60, .to = 460};
//   x(64)                     // 244.6: pixels
//   x.ticks(50)               // 1, 2, 4 ... or every second of them, 50 pixels apart at least
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CHART_AXIS_H
#define PE_RUNTIME_CHART_AXIS_H

#include <limits>
#include <string>
#include <vector>

namespace pe::chart {

/// Whether a chart can show the number: finite, and so small that differences are, too.
inline bool isDrawable(double value) { return value >= -1e100 && value <= 1e100; }

/// The range of the drawable numbers added.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value);
  bool isEmpty() const { return low > high; }
  /// Gives an empty range, or one of a single number, an extent.
  void widen();
};

/// Values mapped to pixels.
struct Scale {
  enum class Kind { Linear, Log2, Log10 };
  Kind kind = Kind::Linear;
  double low = 0, high = 1, from = 0, to = 1;

  double operator()(double value) const;
  /// Round numbers inside [low, high], their places at least `gap` pixels apart.
  std::vector<double> ticks(double gap) const;
};

/// Round numbers inside [low, high] (to a thousandth of a step), about `count` of them: multiples
/// of 1, 2 or 5 times a power of ten. Empty unless low < high and both are finite.
std::vector<double> axisTicks(double low, double high, int count);

/// "0.05", "8192", "2.5e-6": at most four digits.
std::string formatNumber(double value);

/// About how many pixels wide the text is, in the charts' font at `size` pixels.
double textWidth(const std::string &text, double size);

} // namespace pe::chart

#endif // PE_RUNTIME_CHART_AXIS_H
