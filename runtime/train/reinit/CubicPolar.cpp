//===- CubicPolar.cpp - The published Newton-Schulz operators -------------===//

#include "runtime/train/reinit/CubicPolar.h"
#include "runtime/train/reinit/Spectrum.h"

#include <cmath>

namespace pe::reinit {
namespace {

/// Determines the largest singular value to about 1e-8.
constexpr int64_t kLanczosSteps = 200;

double squaredNorm(ParallelFor &pool, int64_t n, Matrix &gram, Norm norm) {
  if (norm == Norm::Spectral) {
    mirrorUpper(pool, n, gram);
    return extremeEigenvalues(pool, n, gram, kLanczosSteps).most;
  }
  double trace = 0;
  for (int64_t i = 0; i < n; ++i)
    trace += gram[i * n + i];
  return trace;
}

/// Returns x (1.5 I - 0.5 G) for the upper triangle of G, which is destroyed.
Matrix step(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x, Matrix &gram) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i; j < n; ++j)
      gram[i * n + j] *= -0.5;
    gram[i * n + i] += 1.5;
  }
  mirrorUpper(pool, n, gram);
  return multiply(pool, m, n, n, x.data(), gram.data());
}

} // namespace

Matrix cubicStep(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x) {
  Matrix gram;
  gramUpper(pool, m, n, x.data(), gram);
  return step(pool, m, n, x, gram);
}

Matrix cubicSteps(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x, Matrix gram,
                  int iterations, Norm norm) {
  const double square = squaredNorm(pool, n, gram, norm), inverse = 1 / std::sqrt(square);
  Matrix result = x;
  for (double &value : result)
    value *= inverse;
  for (double &value : gram)
    value /= square;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    if (iteration)
      gramUpper(pool, m, n, result.data(), gram);
    result = step(pool, m, n, result, gram);
  }
  return result;
}

} // namespace pe::reinit
