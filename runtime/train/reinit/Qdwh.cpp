//===- Qdwh.cpp - Polar factors by Halley iteration -----------------------===//

#include "runtime/train/reinit/Qdwh.h"
#include "runtime/core/Random.h"
#include "runtime/train/reinit/Elements.h"
#include "runtime/train/reinit/FloatFinish.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pe::reinit {
namespace {

constexpr double kLowerBound = 1e-8;
/// The largest deviation from 1 that the last step may leave.
constexpr double kTolerance = 2e-8;
/// The ratio of R's diagonal elements above which a tall matrix is factored a second time. The
/// ratio underestimates the condition number, which enters squared: 1e-16 * (100 * 30)^2 is still
/// 1e-9.
constexpr double kSecondPass = 30;

/// The weights of one step for a spectrum in [l, 1].
struct Weights {
  double a, b, c;

  explicit Weights(double l) {
    double square = l * l;
    double d = std::cbrt(4 * (1 - square) / (square * square));
    double root = std::sqrt(1 + d);
    a = root + 0.5 * std::sqrt(8 - 4 * d + 8 * (2 - square) / (square * root));
    b = (a - 1) * (a - 1) / 4;
    c = a + b - 1;
  }
};

/// Applies one step to the square x[n, n] with its Gram matrix (upper triangle, destroyed). Returns
/// false if I + c G is not positive definite, which only rounding of a badly scaled matrix can
/// cause.
bool step(ParallelFor &pool, int64_t n, const Weights &weights, Matrix &x, Matrix &gram) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i; j < n; ++j)
      gram[i * n + j] *= weights.c;
    gram[i * n + i] += 1;
  }
  if (!choleskyUpper(pool, n, gram))
    return false;
  const double direct = weights.b / weights.c;
  addSolved(pool, n, n, gram, direct, weights.a - direct, x);
  return true;
}

/// Iterates on the square x[n, n] with Gram matrix `gram` and spectrum in [l, 1] until all singular
/// values are 1. Returns the number of steps, or 0 if a step fails.
int iterate(ParallelFor &pool, int64_t n, double l, Accuracy accuracy, Matrix &x, Matrix &gram) {
  int iterations = 0;
  while (1 - l > kTolerance || iterations == 0) {
    if (accuracy == Accuracy::Float && !finishingPolynomial(l).empty()) {
      finishInFloats(pool, n, l, x);
      return iterations + 1;
    }
    Weights weights(l);
    if (iterations)
      gramUpper(pool, n, n, x.data(), gram);
    if (!step(pool, n, weights, x, gram))
      return 0;
    const double square = l * l;
    l = std::min(1.0, l * (weights.a + weights.b * square) / (1 + weights.c * square));
    ++iterations;
  }
  return iterations;
}

/// Replaces the square x[n, n] by its polar factor. No singular value may be less than `least`, or
/// than kLowerBound times the largest. Returns the number of steps, or 0 if a step fails.
int squarePolar(ParallelFor &pool, int64_t n, double least, Accuracy accuracy, Matrix &x,
                Matrix gram) {
  const double bound = spectralBound(n, gram);
  const double inverse = 1 / std::sqrt(bound);
  forChunks(pool, n * n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      x[i] *= inverse;
      gram[i] /= bound;
    }
  });
  return iterate(pool, n, std::clamp(least * inverse, kLowerBound, 1.0), accuracy, x, gram);
}

/// Returns a quarter of the smallest singular value of the upper triangular r[n, n], estimated with
/// four steps of inverse iteration on R^T R. The estimate is too large by up to |c|^(-1/8), where c
/// is the component of the start vector along the singular vector. The factor 1/4 compensates for
/// this down to c = 1.5e-5.
double leastSingularValue(int64_t n, const Matrix &r) {
  constexpr int kSteps = 4;
  std::vector<double> v(n);
  Random random(0, "reinit.least-singular-value");
  for (double &value : v)
    value = random.normal();
  double logGrowth = 0; // of |v|, by powers of 1 / sigma^2
  for (int step = 0; step <= kSteps; ++step) {
    const double norm = std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
    logGrowth += step ? std::log(norm) : 0;
    for (double &value : v)
      value /= norm;
    if (step == kSteps)
      break;
    for (int64_t i = 0; i < n; ++i) { // v <- R^-T v
      const double value = v[i] /= r[i * n + i];
      for (int64_t j = i + 1; j < n; ++j)
        v[j] -= r[i * n + j] * value;
    }
    for (int64_t i = n - 1; i >= 0; --i) { // v <- R^-1 v
      double sum = v[i];
      for (int64_t j = i + 1; j < n; ++j)
        sum -= r[i * n + j] * v[j];
      v[i] = sum / r[i * n + i];
    }
  }
  return 0.25 * std::exp(-logGrowth / (2 * kSteps));
}

/// Returns the upper triangle with zeros below the diagonal.
Matrix triangleOf(int64_t n, const Matrix &r) {
  Matrix result(n * n);
  for (int64_t i = 0; i < n; ++i)
    std::copy(&r[i * n + i], &r[(i + 1) * n - 1] + 1, &result[i * n + i]);
  return result;
}

/// Returns the ratio of the extreme diagonal elements, a lower bound of the condition number.
double diagonalRatio(int64_t n, const Matrix &r) {
  double least = r[0], most = r[0];
  for (int64_t i = 1; i < n; ++i) {
    least = std::min(least, r[i * n + i]);
    most = std::max(most, r[i * n + i]);
  }
  return most / least;
}

/// Factors x = Q R; the polar factor is Q times that of R.
std::optional<QdwhResult> tallPolar(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x,
                                    const Matrix &gram, SpectrumBound &bound, Accuracy accuracy) {
  Matrix r = gram;
  if (!choleskyUpper(pool, n, r)) {
    bound = SpectrumBound::Fixed;
    return std::nullopt;
  }
  Matrix factor = triangleOf(n, r), squared = gram, again;
  const Matrix *basis = &x;
  if (diagonalRatio(n, r) > kSecondPass) {
    again = x;
    solveRight(pool, m, n, r, again);
    Matrix second;
    gramUpper(pool, m, n, again.data(), second);
    if (!choleskyUpper(pool, n, second))
      return std::nullopt;
    r = std::move(second);
    factor = multiply(pool, n, n, n, triangleOf(n, r).data(), factor.data());
    gramUpper(pool, n, n, factor.data(), squared);
    basis = &again;
  }
  const double least = bound == SpectrumBound::Estimated ? leastSingularValue(n, factor) : 0;
  const int iterations = squarePolar(pool, n, least, accuracy, factor, std::move(squared));
  if (!iterations)
    return std::nullopt;
  solveLeft(pool, n, r, factor);
  return QdwhResult{multiply(pool, m, n, n, basis->data(), factor.data()), iterations};
}

/// Returns an estimated lower bound of the smallest singular value of a square matrix, from the
/// Cholesky factor of its Gram matrix, or 0 if there is no factor. Singular values below 1e-7 of
/// the largest are lost to rounding and give a useless bound, which is detected like any wrong
/// estimate.
double leastOfSquare(ParallelFor &pool, int64_t n, Matrix gram) {
  return choleskyUpper(pool, n, gram) ? leastSingularValue(n, gram) : 0;
}

} // namespace

std::optional<QdwhResult> qdwhPolar(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x,
                                    const Matrix &gram, SpectrumBound &bound, Accuracy accuracy) {
  if (m != n)
    return tallPolar(pool, m, n, x, gram, bound, accuracy);
  Matrix factor = x;
  const double least = bound == SpectrumBound::Estimated ? leastOfSquare(pool, n, gram) : 0;
  if (least == 0)
    bound = SpectrumBound::Fixed;
  const int iterations = squarePolar(pool, n, least, accuracy, factor, gram);
  if (!iterations)
    return std::nullopt;
  return QdwhResult{std::move(factor), iterations};
}

} // namespace pe::reinit
