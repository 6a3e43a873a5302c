//===- FireRepresentation.h - Known biases as functions of t = d / N ------===//
//
// A constructive version of Theorem 3.1 of Li et al. 2023 (arXiv 2310.04418): parameters for which
// f(u(d) / u(N)) equals another bias of the distance d, for every d up to N. Sums over the f32
// parameters should be computed in float64 and rounded once.
//
// Example: a table (r0, r1, r2) over a bucket that increases at distances 1 and 4 is, for N = 512,
//
//   r0 + (r1 - r0) step(512 t - 0.5) + (r2 - r1) step(512 t - 3.5)
//
// Thresholds are halfway between integer distances, so rounding of t does not cross a step.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_MATH_FIREREPRESENTATION_H
#define PE_DIALECT_MATH_FIREREPRESENTATION_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace mlir::pe {

/// A network with one hidden layer of n units: w1[n], b1[n], w2[rows, n], b2[rows].
struct HiddenLayer {
  std::vector<float> w1, b1, w2, b2;
};

/// Splits a number into the sum of two f32, with a relative error of at most 2^-48.
inline std::pair<float, float> splitInTwo(double value) {
  const auto high = static_cast<float>(value);
  return {high, static_cast<float>(value - high)};
}

/// Represents table[x, h] ([starts + 1, heads]), where x is the number of `starts` that d has
/// reached, as steps of t = d / length. Each step has two units, so the rounding error of the sum
/// is far below the precision of f32. Rounded to f32, the sum equals the table entry, except for
/// entries that are more than a million times smaller than another entry of their head.
inline HiddenLayer representSteps(std::span<const int64_t> starts, std::span<const float> table,
                                  int64_t heads, double length) {
  HiddenLayer layer;
  const size_t units = 2 * starts.size();
  for (int64_t start : starts)
    for (int copy = 0; copy < 2; ++copy) {
      layer.w1.push_back(static_cast<float>(length));
      layer.b1.push_back(static_cast<float>(0.5 - static_cast<double>(start)));
    }
  layer.w2.resize(units * heads);
  layer.b2.assign(table.begin(), table.begin() + heads);
  for (int64_t head = 0; head < heads; ++head) {
    double sum = layer.b2[head];
    for (size_t step = 0; step < starts.size(); ++step) {
      const auto [high, low] = splitInTwo(table[(step + 1) * heads + head] - sum);
      layer.w2[head * units + 2 * step] = high;
      layer.w2[head * units + 2 * step + 1] = low;
      sum += static_cast<double>(high) + low;
    }
  }
  return layer;
}

/// Represents amplitude_h sum_k cos(d / base^(k / terms)), k = 1 to terms, as cosines of multiples
/// of t = d / length. Rounding a frequency to f32 may cause an error of length * 2^-24 radians at t
/// = 1. Each cosine is therefore a weighted mean of the cosines of the two adjacent f32
/// frequencies, which cancels the first-order error.
inline HiddenLayer representCosines(int64_t terms, double base, std::span<const float> amplitudes,
                                    double length) {
  HiddenLayer layer;
  std::vector<double> shares;
  for (int64_t k = 1; k <= terms; ++k) {
    const double frequency = length * std::pow(base, -static_cast<double>(k) / terms);
    auto below = static_cast<float>(frequency);
    if (below > frequency)
      below = std::nextafter(below, 0.0f);
    const float above = std::nextafter(below, std::numeric_limits<float>::infinity());
    const double share = (frequency - below) / (static_cast<double>(above) - below);
    layer.w1.insert(layer.w1.end(), {below, above});
    shares.insert(shares.end(), {1.0 - share, share});
  }
  layer.b1.assign(layer.w1.size(), 0.0f);
  for (float amplitude : amplitudes)
    for (double share : shares)
      layer.w2.push_back(static_cast<float>(amplitude * share));
  layer.b2.assign(amplitudes.size(), 0.0f);
  return layer;
}

/// Returns slope * u(length), with u(x) = log(|c| x + 1): slope * u(d) = (slope * u(length)) * t
/// for t = u(d) / u(length).
inline double representLogSlope(double slope, double c, double length) {
  return slope * std::log1p(std::fabs(c) * length);
}

/// Returns slope * length^exponent: slope * d^exponent = (slope * length^exponent) * t^exponent for
/// t = d / length.
inline double representPowerSlope(double slope, double exponent, double length) {
  return slope * std::pow(length, exponent);
}

/// Returns 2^(-8 (head + 1) / heads).
inline double geometricSlope(int64_t head, int64_t heads) {
  return std::exp2(-8.0 * static_cast<double>(head + 1) / static_cast<double>(heads));
}

/// Returns the slope of `head` in a sequence that consists of the geometric slopes of n heads,
/// where n is the largest power of two <= `heads`, followed by every second slope of 2n heads
/// (Press et al. 2022, arXiv 2108.12409, and its code).
inline double interleavedSlope(int64_t head, int64_t heads) {
  int64_t power = 1;
  while (2 * power <= heads)
    power *= 2;
  return head < power ? geometricSlope(head, power) : geometricSlope(2 * (head - power), 2 * power);
}

} // namespace mlir::pe

#endif // PE_DIALECT_MATH_FIREREPRESENTATION_H
