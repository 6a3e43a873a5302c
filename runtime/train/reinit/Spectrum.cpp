//===- Spectrum.cpp - Extreme eigenvalues by the Lanczos method -----------===//

#include "runtime/train/reinit/Spectrum.h"
#include "runtime/core/Random.h"

#include <algorithm>
#include <cmath>

namespace pe::reinit {
namespace {

using Vector = std::vector<double>;

double dot(const Vector &a, const Vector &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

void addScaled(double factor, const Vector &x, Vector &y) {
  for (size_t i = 0; i < x.size(); ++i)
    y[i] += factor * x[i];
}

template <typename T>
Vector apply(ParallelFor &pool, int64_t n, const std::vector<T> &a, const Vector &x) {
  constexpr int64_t kRows = 64;
  Vector result(n);
  parallelFor(pool, (n + kRows - 1) / kRows, [&](int64_t item) {
    for (int64_t i = item * kRows; i < std::min(n, (item + 1) * kRows); ++i) {
      double sum = 0;
      for (int64_t j = 0; j < n; ++j)
        sum += static_cast<double>(a[i * n + j]) * x[j];
      result[i] = sum;
    }
  });
  return result;
}

/// Returns the number of eigenvalues of the tridiagonal matrix that are less than x (Sturm
/// sequence).
size_t countBelow(const Vector &diagonal, const Vector &off, double x) {
  size_t count = 0;
  double pivot = 1;
  for (size_t i = 0; i < diagonal.size(); ++i) {
    pivot = diagonal[i] - x - (i ? off[i - 1] * off[i - 1] / pivot : 0);
    if (pivot == 0)
      pivot = -1e-300;
    count += pivot < 0;
  }
  return count;
}

/// Returns the eigenvalue with the given index, counted from 0, by bisection.
double eigenvalue(const Vector &diagonal, const Vector &off, size_t index) {
  double radius = 0;
  for (size_t i = 0; i < diagonal.size(); ++i)
    radius = std::max(radius, std::abs(diagonal[i]) + (i ? std::abs(off[i - 1]) : 0) +
                                  (i < off.size() ? std::abs(off[i]) : 0));
  double low = -radius, high = radius;
  constexpr int kHalvings = 80;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = low + (high - low) / 2;
    (countBelow(diagonal, off, middle) > index ? high : low) = middle;
  }
  return low + (high - low) / 2;
}

} // namespace

template <typename T>
Extremes extremeEigenvalues(ParallelFor &pool, int64_t n, const std::vector<T> &a, int64_t steps) {
  constexpr double kDone = 1e-14; // the subspace is invariant, and the remainder is rounding
  Random random(0, "reinit.lanczos");
  Vector start(n);
  for (double &value : start)
    value = random.normal();
  std::vector<Vector> basis;
  Vector diagonal, off, next = std::move(start);
  double largest = 0;
  for (int64_t k = 0; k < std::min(n, steps); ++k) {
    const double norm = std::sqrt(dot(next, next));
    if (k && norm <= kDone * largest)
      break;
    if (k)
      off.push_back(norm);
    for (double &value : next)
      value /= norm;
    basis.push_back(next);
    next = apply(pool, n, a, basis.back());
    diagonal.push_back(dot(next, basis.back()));
    largest = std::max({largest, std::abs(diagonal.back()), norm * (k != 0)});
    for (int pass = 0; pass < 2; ++pass)
      for (const Vector &vector : basis)
        addScaled(-dot(next, vector), vector, next);
  }
  return {eigenvalue(diagonal, off, 0), eigenvalue(diagonal, off, diagonal.size() - 1)};
}

template Extremes extremeEigenvalues(ParallelFor &, int64_t, const std::vector<float> &, int64_t);
template Extremes extremeEigenvalues(ParallelFor &, int64_t, const std::vector<double> &, int64_t);

} // namespace pe::reinit
