//===- Qdwh.h - Polar factors by Halley iteration ---------------*- C++ -*-===//
//
// The dynamically weighted Halley iteration with Cholesky factors (Nakatsukasa and Higham 2013,
// "QDWH"), in double:
//
//   X <- (b/c) X + (a - b/c) X (I + c X^T X)^-1,     a, b, c from the lower bound l of the
//   spectrum.
//
// The upper bound sigma^2 <= min(|G|_F, |G|_inf), G = X^T X, costs nothing extra. With l = 1e-8,
// four steps always suffice: singular values of at least 1e-8 times the largest become 1 up to
// rounding. A few steps of inverse iteration on the Cholesky factor R of G, if it exists, give a
// better l: three steps suffice from l = 0.005. A factor that is stored in float32 needs fewer
// steps: once the spectrum is above 0.72, which takes one step for most non-square weights and two
// for most square ones, a polynomial in float32 completes the iteration (FloatFinish.h).
//
// A tall matrix is first divided by R (X = Q R), so that the iteration runs only on the small n x n
// factor. The error of this division grows with the square of R's condition number. If the diagonal
// of R indicates a condition number for which this matters, Q is factored again (Cholesky-QR2),
// which restores the accuracy.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_QDWH_H
#define PE_RUNTIME_TRAIN_REINIT_QDWH_H

#include "runtime/train/reinit/Dense.h"

#include <optional>

namespace pe::reinit {

/// The source of l: an estimate, which is wrong if the last singular vector of the matrix happens
/// to be nearly orthogonal to the estimate's start vector, or the fixed value 1e-8.
enum class SpectrumBound : uint8_t { Estimated, Fixed };

/// The accuracy of the factor. For Float, FloatFinish.h replaces the last steps.
enum class Accuracy : uint8_t { Double, Float };

struct QdwhResult {
  Matrix factor;
  /// The number of Halley steps, plus one for the polynomial.
  int iterations;
};

/// Returns the polar factor of x[m, n], m >= n, whose Gram matrix has the upper triangle `gram`.
/// Returns nothing if singular values were lost to rounding, as happens for rank-deficient
/// matrices. The caller must check a factor from an estimated spectrum. `bound` is set to Fixed if
/// no estimate was possible, in which case another call would give the same result.
std::optional<QdwhResult> qdwhPolar(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x,
                                    const Matrix &gram, SpectrumBound &bound, Accuracy accuracy);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_QDWH_H
