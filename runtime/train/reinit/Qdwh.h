//===- Qdwh.h - Polar factors by Halley iteration ---------------*- C++ -*-===//
//
// The dynamically weighted Halley iteration with Cholesky factors (Nakatsukasa and Higham 2013,
// "QDWH"), in double:
//
//   X <- (b/c) X + (a - b/c) X (I + c X^T X)^-1,     a, b, c from the lower bound l of the
//   spectrum.
//
// The upper bound sigma^2 <= min(|G|_F, |G|_inf), G = X^T X, is free. With l = 1e-8 four steps
// always suffice: singular values from 1e-8 of the largest upwards become 1 to rounding. A better l
// comes from a few steps of inverse iteration on the Cholesky factor R of G, if there is one: from
// l = 0.005 three steps suffice. A factor that is stored as floats needs fewer: where the spectrum
// begins above 0.72, which is after one step for most weights that are not square and after two for
// most squares, a polynomial in floats does the rest (FloatFinish.h).
//
// A tall matrix is first divided by R (X = Q R), so that the iteration runs on the small n x n
// factor alone. That division loses the square of R's condition; where R's diagonal shows one that
// matters, Q is factored once more (Cholesky-QR2), which restores it.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_QDWH_H
#define PE_RUNTIME_TRAIN_REINIT_QDWH_H

#include "runtime/train/reinit/Dense.h"

#include <optional>

namespace pe::reinit {

/// Where l comes from: an estimate, which is wrong for a matrix whose last singular vector happens
/// to be nearly orthogonal to the estimate's start, or the fixed 1e-8.
enum class SpectrumBound : uint8_t { Estimated, Fixed };

/// What the factor is for: doubles, or at most floats, for which FloatFinish.h takes the place of
/// the last steps.
enum class Accuracy : uint8_t { Double, Float };

struct QdwhResult {
  Matrix factor;
  /// Halley steps, and one for the polynomial.
  int iterations;
};

/// The polar factor of x[m, n], m >= n, whose Gram matrix (upper triangle) is `gram`; nothing if
/// singular values were lost on the way, as those of rank-deficient matrices are. A factor of an
/// estimated spectrum is to be checked; `bound` becomes Fixed where there was nothing to estimate
/// from, so that another call would do the same.
std::optional<QdwhResult> qdwhPolar(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x,
                                    const Matrix &gram, SpectrumBound &bound, Accuracy accuracy);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_QDWH_H
