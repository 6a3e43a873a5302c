//===- Qdwh.cpp - Polar factors by Halley iteration -----------------------===//

#include "runtime/train/reinit/Qdwh.h"

#include <algorithm>
#include <cmath>

namespace pe::reinit {
namespace {

constexpr double kLowerBound = 1e-8;
/// The ratio of R's diagonal elements above which a tall matrix is factored a second time. It
/// underestimates the condition, which enters squared: 1e-16 * (100 * 30)^2 is still 1e-9.
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

/// One step on the square x[n, n] with its Gram matrix (upper triangle, destroyed). False: I + c G
/// is not positive definite, which only rounding of a badly scaled matrix can cause.
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

/// Four steps on the square x[n, n], whose Gram matrix is `gram` and whose spectrum is below 1.
bool iterate(ParallelFor &pool, int64_t n, Matrix &x, Matrix &gram) {
  double l = kLowerBound;
  for (int iteration = 0; iteration < kQdwhIterations; ++iteration) {
    Weights weights(std::min(l, 1.0));
    if (iteration)
      gramUpper(pool, n, n, x.data(), gram);
    if (!step(pool, n, weights, x, gram))
      return false;
    double square = l * l;
    l *= (weights.a + weights.b * square) / (1 + weights.c * square);
  }
  return true;
}

/// The polar factor of the square x[n, n], which it replaces.
bool squarePolar(ParallelFor &pool, int64_t n, Matrix &x, Matrix gram) {
  const double bound = spectralBound(n, gram);
  const double inverse = 1 / std::sqrt(bound);
  for (double &value : x)
    value *= inverse;
  for (double &value : gram)
    value /= bound;
  return iterate(pool, n, x, gram);
}

/// The upper triangle with zeros below it.
Matrix triangleOf(int64_t n, const Matrix &r) {
  Matrix result(n * n);
  for (int64_t i = 0; i < n; ++i)
    std::copy(&r[i * n + i], &r[(i + 1) * n - 1] + 1, &result[i * n + i]);
  return result;
}

/// The ratio of the extreme diagonal elements, a lower bound of the condition.
double diagonalRatio(int64_t n, const Matrix &r) {
  double least = r[0], most = r[0];
  for (int64_t i = 1; i < n; ++i) {
    least = std::min(least, r[i * n + i]);
    most = std::max(most, r[i * n + i]);
  }
  return most / least;
}

/// x = Q R; the factor is Q times that of R.
std::optional<Matrix> tallPolar(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x,
                                const Matrix &gram) {
  Matrix r = gram;
  if (!choleskyUpper(pool, n, r))
    return std::nullopt;
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
  if (!squarePolar(pool, n, factor, std::move(squared)))
    return std::nullopt;
  solveLeft(pool, n, r, factor);
  return multiply(pool, m, n, n, basis->data(), factor.data());
}

} // namespace

std::optional<Matrix> qdwhPolar(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x,
                                const Matrix &gram) {
  if (m != n)
    return tallPolar(pool, m, n, x, gram);
  Matrix factor = x;
  if (!squarePolar(pool, n, factor, gram))
    return std::nullopt;
  return factor;
}

} // namespace pe::reinit
