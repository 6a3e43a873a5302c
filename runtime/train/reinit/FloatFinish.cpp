//===- FloatFinish.cpp - The last steps of a polar iteration in float32 ---===//

#include "runtime/train/reinit/FloatFinish.h"
#include "runtime/train/reinit/Elements.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace pe::reinit {
namespace {

using Floats = std::vector<float>;

/// The largest 1 - l^2 for which a polynomial of this degree brings singular values within 2e-8 of
/// 1. Three degrees cost one product.
struct Reach {
  int64_t degree;
  double spectrum;
};
constexpr std::array<Reach, 4> kReach = {{{1, 3.2e-4}, {3, 0.038}, {6, 0.25}, {9, 0.48}}};
/// The number of powers of E that are computed. Higher ones are products with powers of the last.
constexpr int64_t kPowers = 3;
constexpr int64_t kRows = 64;

/// Interpolates (1 - e)^-1/2 - 1 at the Chebyshev points of [0, most] by a polynomial of the given
/// degree without constant term. Uses Newton's divided differences of its quotient by e.
std::vector<double> interpolate(int64_t degree, double most) {
  std::vector<double> points(degree), divided(degree), result(degree);
  for (int64_t k = 0; k < degree; ++k) {
    const double angle =
        std::numbers::pi * (2.0 * static_cast<double>(k) + 1) / (2.0 * static_cast<double>(degree));
    points[k] = (1 - std::cos(angle)) / 2;
    const double e = points[k] * most;
    divided[k] = std::expm1(-0.5 * std::log1p(-e)) / e;
  }
  for (int64_t order = 1; order < degree; ++order)
    for (int64_t k = degree; k-- > order;)
      divided[k] = (divided[k] - divided[k - 1]) / (points[k] - points[k - order]);
  for (int64_t k = degree; k-- > 0;) { // result <- result (e / most - points[k]) + divided[k]
    for (int64_t i = degree; i-- > 0;)
      result[i] = (i ? result[i - 1] : 0) - points[k] * result[i];
    result[0] += divided[k];
  }
  double power = 1;
  for (double &value : result) {
    value /= power;
    power *= most;
  }
  return result;
}

/// Returns I - G for the upper triangle of G.
Floats complement(ParallelFor &pool, int64_t n, const Matrix &gram) {
  Floats e(n * n);
  parallelFor(pool, (n + kRows - 1) / kRows, [&](int64_t item) {
    for (int64_t i = item * kRows; i < std::min(n, (item + 1) * kRows); ++i) {
      for (int64_t j = i; j < n; ++j)
        e[i * n + j] = static_cast<float>(-gram[i * n + j]);
      e[i * n + i] = static_cast<float>(1 - gram[i * n + i]);
    }
  });
  mirrorUpper(pool, n, e);
  return e;
}

/// Computes sum += c[0] E + c[1] E^2 + c[2] E^3 on upper triangles, up to the last computed power.
void addPowers(ParallelFor &pool, int64_t n, const std::array<Floats, kPowers> &powers,
               const double *c, Floats &sum) {
  parallelFor(pool, (n + kRows - 1) / kRows, [&](int64_t item) {
    for (int64_t k = 0; k < kPowers && !powers[k].empty(); ++k) {
      const auto factor = static_cast<float>(c[k]);
      for (int64_t i = item * kRows; i < std::min(n, (item + 1) * kRows); ++i)
        for (int64_t j = i; j < n; ++j)
          sum[i * n + j] += factor * powers[k][i * n + j];
    }
  });
}

} // namespace

std::vector<double> finishingPolynomial(double l) {
  const double spectrum = 1 - l * l;
  for (const Reach &reach : kReach)
    if (spectrum <= reach.spectrum)
      return interpolate(reach.degree, std::max(spectrum, 1e-12));
  return {};
}

void finishInFloats(ParallelFor &pool, int64_t n, double l, Matrix &x) {
  const std::vector<double> c = finishingPolynomial(l);
  const auto degree = static_cast<int64_t>(c.size());
  Matrix gram;
  gramUpper(pool, n, n, x.data(), gram);
  std::array<Floats, kPowers> powers = {complement(pool, n, gram)};
  for (int64_t k = 1; k < std::min(degree, kPowers); ++k) {
    powers[k].resize(n * n);
    symmetricProduct(pool, n, powers[0].data(), powers[k - 1].data(), powers[k].data());
    mirrorUpper(pool, n, powers[k]);
  }
  Floats polynomial(n * n), higher(n * n);
  for (int64_t k = (degree - 1) / kPowers * kPowers; k >= 0; k -= kPowers) {
    addPowers(pool, n, powers, c.data() + k, polynomial);
    mirrorUpper(pool, n, polynomial);
    if (k) {
      symmetricProduct(pool, n, powers.back().data(), polynomial.data(), higher.data());
      std::swap(polynomial, higher);
    }
  }
  forChunks(pool, n * n, [&](int64_t begin, int64_t end) {
    std::copy(x.begin() + begin, x.begin() + end, higher.begin() + begin);
  });
  const Floats correction = multiply(pool, n, n, n, higher.data(), polynomial.data());
  forChunks(pool, n * n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      x[i] += correction[i];
  });
}

} // namespace pe::reinit
