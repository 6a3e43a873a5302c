//===- Polar.h - The orthogonal polar factor of a matrix --------*- C++ -*-===//
//
// W = U P with U having orthonormal columns (rows, if W is wide) and P symmetric positive
// semidefinite: U is the isometry nearest to W, and U V^T of its singular value decomposition.
// Computed in double by the dynamically weighted Halley iteration with Cholesky factors
// (Nakatsukasa and Higham 2013, "QDWH"):
//
//   X <- (b/c) X + (a - b/c) X (I + c X^T X)^-1,     a, b, c from the lower bound l of the
//   spectrum.
//
// With l fixed at 1e-8 and the free upper bound sigma^2 <= min(|G|_F, |G|_inf), G = X^T X, four
// steps always suffice: singular values from 1e-8 of the largest upwards become 1 to rounding. A
// matrix that is not square is first divided by the Cholesky factor R of G (X = Q R), so that the
// iteration runs on the small n x n factor alone.
//
// Values below that bound count as zero. Such a matrix has many polar factors, all equally close;
// one is chosen by first adding a small seeded random matrix (1e-5 sigma / sqrt(max(m, n))) first.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_POLAR_H
#define PE_RUNTIME_TRAIN_REINIT_POLAR_H

#include "pe/Error.h"

#include <cstdint>
#include <vector>

namespace pe::reinit {

struct PolarFactor {
  /// [rows, cols], row-major. Empty for a zero matrix, which has no nearest isometry.
  std::vector<double> factor;
  /// Steps of one run of the iteration.
  int iterations = 0;
  /// Numerical rank of the input; below min(rows, cols) the factor was completed as described
  /// above.
  int64_t rank = 0;
};

/// The polar factor of w[rows, cols]. An element that is not finite is an error naming its place.
/// Needs blas::load().
Expected<PolarFactor> polarFactor(int64_t rows, int64_t cols, const double *w, uint64_t seed);

/// The deviation from isometry |X^T X - I|_F^2 of x[rows, cols], on the smaller side.
double deviationFromIsometry(int64_t rows, int64_t cols, const double *x);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_POLAR_H
