//===- Smoothing.h - Smoothing of noisy curves ------------------*- C++ -*-===//
//
// Exponential moving averages without initialization bias: every mean is divided by the sum of its
// weights, so the mean of a constant is exact from the first value on.
//
//   RunningMean mean(0.9);
//   mean.add(6.5);            // 6.5
//   mean.add(4.25);           // (0.9 * 6.5 + 4.25) / 1.9 = 5.316
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CHART_SMOOTHING_H
#define PE_RUNTIME_CHART_SMOOTHING_H

#include <vector>

namespace pe::chart {

/// The mean of all previous values, weighted by `decay` to the power of their age.
class RunningMean {
public:
  explicit RunningMean(double decay) : decay(decay) {}
  /// Adds a value and returns the mean.
  double add(double value);
  /// Returns the mean, or NaN if there are no values.
  double value() const;

private:
  double decay, sum = 0, weight = 0;
};

/// Averages each value with its neighbors on both sides, weighted by `decay` to the power of their
/// distance. Unlike a running mean, the result does not lag a falling curve. Near the beginning,
/// the number of later neighbors is limited to the number of earlier ones, so that the first value
/// does not change. Values that are not finite are ignored.
std::vector<double> smoothed(const std::vector<double> &values, double decay);

} // namespace pe::chart

#endif // PE_RUNTIME_CHART_SMOOTHING_H
