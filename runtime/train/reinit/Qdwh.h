//===- Qdwh.h - Polar factors by Halley iteration ---------------*- C++ -*-===//
//
// The dynamically weighted Halley iteration with Cholesky factors (Nakatsukasa and Higham 2013,
// "QDWH"), in double:
//
//   X <- (b/c) X + (a - b/c) X (I + c X^T X)^-1,     a, b, c from the lower bound l of the
//   spectrum.
//
// With l fixed at 1e-8 and the free upper bound sigma^2 <= min(|G|_F, |G|_inf), G = X^T X, four
// steps always suffice: singular values from 1e-8 of the largest upwards become 1 to rounding. A
// tall matrix is first divided by the Cholesky factor R of G (X = Q R), so that the iteration runs
// on the small n x n factor alone. That division loses the square of R's condition; where R's
// diagonal shows one that matters, Q is factored once more (Cholesky-QR2), which restores it.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_QDWH_H
#define PE_RUNTIME_TRAIN_REINIT_QDWH_H

#include "runtime/train/reinit/Dense.h"

#include <optional>

namespace pe::reinit {

constexpr int kQdwhIterations = 4;

/// The polar factor of x[m, n], m >= n, whose Gram matrix (upper triangle) is `gram`; nothing if
/// singular values were lost on the way, as those of rank-deficient matrices are.
std::optional<Matrix> qdwhPolar(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x,
                                const Matrix &gram);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_QDWH_H
