//===- Polar.cpp - The orthogonal polar factor of a matrix ----------------===//
//
// Scaling and transposition around the QDWH-Cholesky iteration, and the completion of matrices
// that are rank deficient. Everything works on a tall matrix [m, n], m >= n.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/reinit/Polar.h"
#include "runtime/core/Random.h"
#include "runtime/train/blas/Blas.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace pe::reinit {
namespace {

using Matrix = std::vector<double>;

constexpr int kIterations = 4;
constexpr double kLowerBound = 1e-8;
/// Deviation per dimension above which the spectrum had values below the lower bound: a converged
/// run leaves about 1e-15, one lost direction 1/n.
constexpr double kConverged = 1e-9;
/// Deviation per dimension that one Newton-Schulz step improves (Cholesky-QR of an ill-conditioned
/// tall matrix loses the square of its condition).
constexpr double kPolished = 1e-20;
constexpr double kJitter = 1e-5;
constexpr int kMaxAttempts = 4;

Matrix transposed(int64_t rows, int64_t cols, const double *x) {
  Matrix result(rows * cols);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      result[j * rows + i] = x[i * cols + j];
  return result;
}

Matrix gramOf(int64_t m, int64_t n, const double *x) {
  Matrix gram(n * n);
  blas::gramUpper(m, n, x, gram.data());
  return gram;
}

double deviationOfGram(int64_t n, const Matrix &gram) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    double diagonal = gram[i * n + i] - 1;
    sum += diagonal * diagonal;
    for (int64_t j = i + 1; j < n; ++j)
      sum += 2 * gram[i * n + j] * gram[i * n + j];
  }
  return sum;
}

/// An upper bound of the largest eigenvalue of a symmetric matrix given by its upper triangle.
double spectralBound(int64_t n, const Matrix &gram) {
  double squares = 0;
  Matrix rowSums(n);
  for (int64_t i = 0; i < n; ++i) {
    squares += gram[i * n + i] * gram[i * n + i];
    rowSums[i] += std::abs(gram[i * n + i]);
    for (int64_t j = i + 1; j < n; ++j) {
      double value = std::abs(gram[i * n + j]);
      squares += 2 * value * value;
      rowSums[i] += value;
      rowSums[j] += value;
    }
  }
  return std::min(std::sqrt(squares), *std::max_element(rowSums.begin(), rowSums.end()));
}

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

/// One step on the square x[n, n] with its gram matrix (upper triangle, destroyed). False: I + c G
/// is not positive definite, which only rounding of a badly scaled matrix can cause.
bool step(int64_t n, const Weights &weights, Matrix &x, Matrix &gram) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i; j < n; ++j)
      gram[i * n + j] *= weights.c;
    gram[i * n + i] += 1;
  }
  if (!blas::choleskyUpper(n, gram.data()))
    return false;
  // x (R^T R)^-1 = (x R^-1) R^-T.
  Matrix solved = x;
  blas::solveRight(n, n, gram.data(), blas::Transpose::No, solved.data());
  blas::solveRight(n, n, gram.data(), blas::Transpose::Yes, solved.data());
  double direct = weights.b / weights.c, inverse = weights.a - direct;
  for (int64_t i = 0; i < n * n; ++i)
    x[i] = direct * x[i] + inverse * solved[i];
  return true;
}

/// Four steps on the square x[n, n], whose gram matrix is `gram` and whose spectrum is below 1.
bool iterate(int64_t n, Matrix &x, Matrix gram) {
  double l = kLowerBound;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    Weights weights(std::min(l, 1.0));
    if (iteration)
      gram = gramOf(n, n, x.data());
    if (!step(n, weights, x, gram))
      return false;
    double square = l * l;
    l *= (weights.a + weights.b * square) / (1 + weights.c * square);
  }
  return true;
}

/// x <- 1.5 x - 0.5 x (x^T x): squares the small remaining deviation.
void polish(int64_t m, int64_t n, Matrix &x, Matrix gram) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i; j < n; ++j) {
      double value = -0.5 * gram[i * n + j];
      gram[i * n + j] = gram[j * n + i] = value;
    }
    gram[i * n + i] += 1.5;
  }
  Matrix result(m * n);
  blas::gemm(m, n, n, {x.data(), n}, {gram.data(), n}, 0.0, result.data(), n);
  x = std::move(result);
}

/// The polar factor of a tall matrix, or nothing if singular values were lost.
std::optional<Matrix> tallPolarFactor(int64_t m, int64_t n, const Matrix &x) {
  Matrix gram = gramOf(m, n, x.data());
  double bound = spectralBound(n, gram);
  double inverse = 1 / std::sqrt(bound);
  Matrix small, triangle;
  if (m == n) {
    small = x;
  } else {
    triangle = gram;
    if (!blas::choleskyUpper(n, triangle.data()))
      return std::nullopt;
    small.assign(n * n, 0.0);
    for (int64_t i = 0; i < n; ++i)
      std::copy(&triangle[i * n + i], &triangle[(i + 1) * n - 1] + 1, &small[i * n + i]);
  }
  for (double &value : small)
    value *= inverse;
  for (double &value : gram)
    value /= bound;
  if (!iterate(n, small, std::move(gram)))
    return std::nullopt;

  Matrix result = std::move(small);
  if (m != n) {
    blas::solveLeft(n, n, triangle.data(), result.data());
    Matrix tall(m * n);
    blas::gemm(m, n, n, {x.data(), n}, {result.data(), n}, 0.0, tall.data(), n);
    result = std::move(tall);
  }
  Matrix check = gramOf(m, n, result.data());
  double deviation = deviationOfGram(n, check) / static_cast<double>(n);
  if (!(deviation < kConverged)) // also true for NaN
    return std::nullopt;
  if (deviation > kPolished)
    polish(m, n, result, std::move(check));
  return result;
}

/// x plus seeded noise that is small relative to the largest singular value and covers every
/// direction.
Matrix jittered(int64_t m, int64_t n, const Matrix &x, uint64_t seed, int attempt) {
  double sigma = std::sqrt(spectralBound(n, gramOf(m, n, x.data())));
  double deviation = kJitter * sigma / std::sqrt(static_cast<double>(m));
  Random random(seed, "reinit.jitter." + std::to_string(attempt));
  Matrix result = x;
  for (double &value : result)
    value += deviation * random.normal();
  return result;
}

} // namespace

double deviationFromIsometry(int64_t rows, int64_t cols, const double *x) {
  Matrix flipped;
  if (rows < cols) {
    flipped = transposed(rows, cols, x);
    std::swap(rows, cols);
    x = flipped.data();
  }
  return deviationOfGram(cols, gramOf(rows, cols, x));
}

Expected<PolarFactor> polarFactor(int64_t rows, int64_t cols, const double *w, uint64_t seed) {
  double largest = 0;
  for (int64_t i = 0; i < rows * cols; ++i) {
    if (!std::isfinite(w[i]))
      return makeError("expected finite weights, found ", w[i], " at [", i / cols, ", ", i % cols,
                       "]");
    largest = std::max(largest, std::abs(w[i]));
  }
  PolarFactor result;
  if (largest == 0)
    return result;

  bool wide = rows < cols;
  int64_t m = wide ? cols : rows, n = wide ? rows : cols;
  Matrix x = wide ? transposed(rows, cols, w) : Matrix(w, w + rows * cols);
  for (double &value : x)
    value /= largest;

  result.iterations = kIterations;
  result.rank = n;
  std::optional<Matrix> factor = tallPolarFactor(m, n, x);
  if (!factor) {
    Matrix gram = gramOf(m, n, x.data());
    result.rank = blas::rankOfGram(n, gram.data());
    for (int attempt = 0; attempt < kMaxAttempts && !factor; ++attempt)
      factor = tallPolarFactor(m, n, jittered(m, n, x, seed, attempt));
    if (!factor)
      return makeError("expected a matrix of numerical rank ", n, " after jitter, found rank ",
                       result.rank, "; rescale its rows or columns");
  }
  result.factor = wide ? transposed(m, n, factor->data()) : std::move(*factor);
  return result;
}

} // namespace pe::reinit
