//===- QuinticPolar.cpp - Polar factors by matrix products ----------------===//

#include "runtime/train/reinit/QuinticPolar.h"
#include "runtime/train/reinit/Spectrum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace pe::reinit {
namespace {

// test/scripts/test_plasticity_constants.py compares the constants with those in Python.
constexpr int kLanczosSteps = 12;
/// Ritz values lie inside the spectrum. The margin is larger before the first step has flattened
/// it.
constexpr double kFirstMargin = 1.02, kMargin = 1.005, kLowerMargin = 0.9;
constexpr double kCushion = 0.1;
/// The deviation per dimension at convergence, and the total deviation below which Taylor's
/// polynomial is used.
constexpr double kConverged = 1e-12, kNear = 0.25;
constexpr double kFlat = 0.99;
constexpr int kMaxIterations = 24;
constexpr Quintic kTaylor = {15.0 / 8, -10.0 / 8, 3.0 / 8};

using System = std::array<std::array<double, 5>, 4>;

/// Solves four linear equations; the last column contains the right-hand sides.
std::array<double, 4> solve(System rows) {
  for (size_t k = 0; k < 4; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < 4; ++i)
      if (std::abs(rows[i][k]) > std::abs(rows[pivot][k]))
        pivot = i;
    std::swap(rows[k], rows[pivot]);
    for (size_t i = k + 1; i < 4; ++i) {
      const double factor = rows[i][k] / rows[k][k];
      for (size_t j = k; j < 5; ++j)
        rows[i][j] -= factor * rows[k][j];
    }
  }
  std::array<double, 4> result{};
  for (size_t k = 4; k-- > 0;) {
    double sum = rows[k][4];
    for (size_t j = k + 1; j < 4; ++j)
      sum -= rows[k][j] * result[j];
    result[k] = sum / rows[k][k];
  }
  return result;
}

/// Returns the polynomial of a step for a spectrum in [l, 1]: the best one on at least [0.1, 1],
/// scaled so that its values on [l, 1] are centered at 1.
Quintic cushioned(double l) {
  Quintic p = nearestToOne(std::max(l, kCushion));
  if (l >= kCushion)
    return p;
  const double scale = 2 / (p(l) + p(1));
  return {scale * p.a, scale * p.b, scale * p.c};
}

/// Computes x <- x (a I + b G + c G^2), where both triangles of G are given.
void apply(ParallelFor &pool, int64_t m, int64_t n, const Quintic &p, const std::vector<float> &g,
           std::vector<float> &x) {
  std::vector<float> polynomial;
  gramUpper(pool, n, n, g.data(), polynomial); // G is symmetric: G^T G = G^2
  const float a = static_cast<float>(p.a), b = static_cast<float>(p.b), c = static_cast<float>(p.c);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i; j < n; ++j)
      polynomial[i * n + j] = b * g[i * n + j] + c * polynomial[i * n + j];
  mirrorUpper(pool, n, polynomial);
  x = multiplyAdd(pool, m, n, x.data(), a, polynomial.data());
}

double deviationOf(int64_t n, const std::vector<float> &g) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const double value = g[i * n + j] - (i == j ? 1.0 : 0.0);
      sum += value * value;
    }
  return sum;
}

} // namespace

Quintic nearestToOne(double l) {
  constexpr double kNarrow = 1 - 5e-6;
  if (l >= kNarrow)
    return kTaylor;
  // Remez: the error alternates at l, two extrema q < r, and 1.
  double q = (3 * l + 1) / 4, r = (l + 3) / 4, error = 0;
  constexpr int kExchanges = 50;
  Quintic p{};
  for (int exchange = 0; exchange < kExchanges; ++exchange) {
    System system;
    const std::array<double, 4> points = {l, q, r, 1};
    for (size_t i = 0; i < 4; ++i) {
      const double x = points[i], square = x * x;
      system[i] = {x, x * square, x * square * square, i % 2 ? -1.0 : 1.0, 1};
    }
    const auto [a, b, c, e] = solve(system);
    p = {a, b, c};
    const double root = std::sqrt(std::max(9 * b * b - 20 * a * c, 0.0));
    q = std::sqrt((-3 * b - root) / (10 * c));
    r = std::sqrt((-3 * b + root) / (10 * c));
    if (std::abs(e - error) <= 1e-15)
      break;
    error = e;
  }
  return p;
}

std::optional<QuinticResult> quinticPolar(ParallelFor &pool, int64_t m, int64_t n,
                                          const Matrix &start) {
  std::vector<float> x(start.begin(), start.end()), g;
  double floor = 10 * std::numeric_limits<float>::epsilon();
  for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
    gramUpper(pool, m, n, x.data(), g);
    mirrorUpper(pool, n, g);
    const double deviation = deviationOf(n, g);
    if (deviation < kConverged * static_cast<double>(n))
      return QuinticResult{Matrix(x.begin(), x.end()), iteration};
    if (deviation < kNear) {
      apply(pool, m, n, kTaylor, g, x);
      continue;
    }
    if (!std::isfinite(deviation) || floor >= kFlat)
      return std::nullopt; // by now, only lost directions deviate this much
    const Extremes found = extremeEigenvalues(pool, n, g, kLanczosSteps);
    const double square =
        std::min((iteration ? kMargin : kFirstMargin) * found.most, spectralBound(n, g));
    const double u = std::sqrt(square);
    if (!iteration)
      floor *= u;
    const double lowest = kLowerMargin * std::sqrt(std::max(found.least, 0.0));
    const Quintic p = cushioned(std::min(std::max(lowest, floor) / u, 1.0));
    floor = std::min(p(std::min(floor / u, 1.0)), 1.0);
    apply(pool, m, n, {p.a / u, p.b / (u * square), p.c / (u * square * square)}, g, x);
  }
  return std::nullopt;
}

} // namespace pe::reinit
