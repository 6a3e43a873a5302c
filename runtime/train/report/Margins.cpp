//===- Margins.cpp - Significance of differences between runs -------------===//
#include "runtime/train/report/Margins.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace pe::train {
namespace {

/// The two-sided 95% quantiles of Student's t for 1, 2 ... degrees of freedom.
constexpr double kQuantiles[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};

} // namespace

std::pair<double, double> meanOf(const std::vector<double> &values) {
  double sum = 0, squares = 0;
  for (double value : values)
    sum += value;
  const double count = static_cast<double>(values.size()), mean = sum / count;
  for (double value : values)
    squares += (value - mean) * (value - mean);
  return {mean, values.size() < 2 ? 0 : std::sqrt(squares / (count - 1))};
}

bool Margin::isNoise() const {
  if (seeds < 2 || error == 0)
    return false;
  constexpr auto kMost = static_cast<int64_t>(std::size(kQuantiles));
  return std::abs(mean) <= kQuantiles[std::min(seeds - 1, kMost) - 1] * error;
}

std::string Margin::text() const {
  char text[64];
  const double mean = std::abs(this->mean) < 0.0005 ? 0 : this->mean; // no "-0.000"
  if (seeds < 2)
    std::snprintf(text, sizeof text, "%+.3f", mean);
  else
    std::snprintf(text, sizeof text, "%+.3f ± %.3f%s", mean, error, isNoise() ? " ~" : "");
  return text;
}

Margin marginOf(const std::vector<double> &differences) {
  const auto [mean, deviation] = meanOf(differences);
  return {mean, deviation / std::sqrt(static_cast<double>(differences.size())),
          static_cast<int64_t>(differences.size())};
}

const char *textOf(Verdict verdict) {
  switch (verdict) {
  case Verdict::Holds:
    return "holds";
  case Verdict::Noise:
    return "within noise";
  case Verdict::Fails:
    return "does not hold";
  case Verdict::Unmeasured:
    return "not measured";
  }
  return "";
}

Verdict judge(const Margin &margin) {
  if (margin.seeds == 0)
    return Verdict::Unmeasured;
  if (margin.isNoise())
    return Verdict::Noise;
  return margin.mean > 0 ? Verdict::Holds : Verdict::Fails;
}

} // namespace pe::train
