//===- CubicPolar.h - The published Newton-Schulz operators -----*- C++ -*-===//
//
// X <- 1.5 X - 0.5 X X^T X for the requested number of steps, on a matrix divided by its Frobenius
// norm (Han et al. 2026: 10 steps, 5 for language models) or by its largest singular value. Ten
// steps rarely reach an isometry, because a step multiplies small singular values by only 1.5. The
// published results were obtained with this operator.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_CUBICPOLAR_H
#define PE_RUNTIME_TRAIN_REINIT_CUBICPOLAR_H

#include "pe/reinit.h"
#include "runtime/train/reinit/Dense.h"

namespace pe::reinit {

/// Applies `iterations` steps to x[m, n], m >= n, in double. `gram` is the upper triangle of its
/// Gram matrix.
Matrix cubicSteps(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x, Matrix gram,
                  int iterations, Norm norm);

/// Applies one step to x[m, n] without scaling it first. This squares a small deviation from
/// isometry.
Matrix cubicStep(ParallelFor &pool, int64_t m, int64_t n, const Matrix &x);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_CUBICPOLAR_H
