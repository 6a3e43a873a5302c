//===- Smoothing.h - Means of noisy curves ----------------------*- C++ -*-===//
//
// Exponential means without a bias from where they start: every mean is divided by the sum of its
// weights, so that a constant stays constant from the first value on.
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

/// The mean of the values so far, weighted by `decay` to the power of their age.
class RunningMean {
public:
  explicit RunningMean(double decay) : decay(decay) {}
  /// Adds a value and returns the mean.
  double add(double value);
  /// The mean; NaN without values.
  double value() const;

private:
  double decay, sum = 0, weight = 0;
};

/// The values, each averaged with its neighbours on both sides, which are weighted by `decay` to
/// the power of their distance: unlike a running mean, this does not lag behind a curve that falls.
/// Near the beginning as many later values count as there are earlier ones, so that the first one
/// stays as it is. Values that are not finite do not count.
std::vector<double> smoothed(const std::vector<double> &values, double decay);

} // namespace pe::chart

#endif // PE_RUNTIME_CHART_SMOOTHING_H
