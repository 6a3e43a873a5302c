//===- Smoothing.cpp - Smoothing of noisy curves --------------------------===//

#include "runtime/chart/Smoothing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace pe::chart {

/// Neighbors with less weight do not visibly change the mean.
constexpr double kLeastWeight = 1e-4;

double RunningMean::add(double value) {
  sum = decay * sum + value;
  weight = decay * weight + 1;
  return this->value();
}

double RunningMean::value() const {
  return weight > 0 ? sum / weight : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> smoothed(const std::vector<double> &values, double decay) {
  const auto reach = static_cast<std::ptrdiff_t>(std::log(kLeastWeight) / std::log(decay));
  const auto count = static_cast<std::ptrdiff_t>(values.size());
  std::vector<double> means;
  for (std::ptrdiff_t at = 0; at < count; ++at) {
    const std::ptrdiff_t near = std::min(at, reach);
    double sum = 0, weight = 0;
    for (std::ptrdiff_t n = at - near; n <= std::min(at + near, count - 1); ++n)
      if (std::isfinite(values[n])) {
        const double share = std::pow(decay, static_cast<double>(std::abs(n - at)));
        sum += share * values[n];
        weight += share;
      }
    means.push_back(weight > 0 ? sum / weight : std::numeric_limits<double>::quiet_NaN());
  }
  return means;
}

} // namespace pe::chart
