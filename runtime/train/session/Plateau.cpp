//===- Plateau.cpp - Detection of a plateau of the held-out loss ----------===//
//
// Computes the line and the standard error of its slope.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/session/Plateau.h"

#include <algorithm>
#include <cmath>

namespace pe::train {

Trend trendOf(const std::vector<double> &values) {
  const double count = static_cast<double>(values.size()), middle = (count - 1) / 2;
  double mean = 0, products = 0, squares = 0, residuals = 0;
  for (double value : values)
    mean += value / count;
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    products += x * (values[i] - mean);
    squares += x * x;
  }
  Trend trend{.slope = products / squares};
  for (size_t i = 0; i < values.size(); ++i) {
    const double residual = values[i] - mean - trend.slope * (static_cast<double>(i) - middle);
    residuals += residual * residual;
  }
  trend.standardError = std::sqrt(residuals / (count - 2) / squares);
  return trend;
}

void PlateauWatch::add(double value) {
  std::rotate(values.begin(), values.begin() + 1, values.end());
  values.back() = value;
  count = std::min<int64_t>(count + 1, static_cast<int64_t>(values.size()));
}

bool PlateauWatch::onPlateau() const {
  return count == static_cast<int64_t>(values.size()) && !trendOf(values).falls();
}

void PlateauWatch::clear() { count = 0; }

std::vector<StatePart> PlateauWatch::state() {
  return {{"plateau.values", viewOf(values), 0, /*required=*/false},
          {"plateau.count", viewOf(count), 0, /*required=*/false}};
}

} // namespace pe::train
